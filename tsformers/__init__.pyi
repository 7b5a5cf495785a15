"""Types of the lazy names; a test keeps them equal to ``__all__``."""

from tsformers.axes import AXES as AXES
from tsformers.axes import Axis as Axis
from tsformers.layers.attention import AttentionLayer as AttentionLayer
from tsformers.layers.attention import FullAttention as FullAttention
from tsformers.layers.attention import triangular_causal_mask as triangular_causal_mask
from tsformers.layers.decoder import Decoder as Decoder
from tsformers.layers.decoder import DecoderLayer as DecoderLayer
from tsformers.layers.embedding import DataEmbedding as DataEmbedding
from tsformers.layers.embedding import FixedEmbedding as FixedEmbedding
from tsformers.layers.embedding import PositionalEmbedding as PositionalEmbedding
from tsformers.layers.embedding import TemporalEmbedding as TemporalEmbedding
from tsformers.layers.embedding import TimeFeatureEmbedding as TimeFeatureEmbedding
from tsformers.layers.embedding import TokenEmbedding as TokenEmbedding
from tsformers.layers.encoder import ConvLayer as ConvLayer
from tsformers.layers.encoder import Encoder as Encoder
from tsformers.layers.encoder import EncoderLayer as EncoderLayer
from tsformers.models.create import create_model as create_model
from tsformers.models.informer import Informer as Informer
from tsformers.models.informer import ProbAttention as ProbAttention
from tsformers.models.itransformer import DataEmbedding_inverted as DataEmbedding_inverted
from tsformers.models.itransformer import iTransformer as iTransformer
from tsformers.models.patchtst import FlattenHead as FlattenHead
from tsformers.models.patchtst import PatchEmbedding as PatchEmbedding
from tsformers.models.patchtst import PatchTST as PatchTST
from tsformers.models.patchtst import Transpose as Transpose

__version__: str
