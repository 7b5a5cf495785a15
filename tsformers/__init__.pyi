"""Types of the lazy names; a test keeps them equal to ``__all__``."""

from tsformers.axes import AXES as AXES
from tsformers.axes import Axis as Axis
from tsformers.checkpoint import CheckpointError as CheckpointError
from tsformers.checkpoint import load_checkpoint as load_checkpoint
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
from tsformers.layers.normalisation import masked_normalise as masked_normalise
from tsformers.layers.positionwise import PositionwiseConv1d as PositionwiseConv1d
from tsformers.models.create import create_model as create_model
from tsformers.models.informer import Informer as Informer
from tsformers.models.informer import ProbAttention as ProbAttention
from tsformers.models.itransformer import DataEmbedding_inverted as DataEmbedding_inverted
from tsformers.models.itransformer import iTransformer as iTransformer
from tsformers.models.nonstationary_transformer import DSAttention as DSAttention
from tsformers.models.nonstationary_transformer import Nonstationary_Transformer as Nonstationary_Transformer
from tsformers.models.nonstationary_transformer import Projector as Projector
from tsformers.models.patchtst import FlattenHead as FlattenHead
from tsformers.models.patchtst import PatchEmbedding as PatchEmbedding
from tsformers.models.patchtst import PatchTST as PatchTST
from tsformers.models.patchtst import Transpose as Transpose
from tsformers.models.transformer import Transformer as Transformer
from tsformers.training import decoder_input as decoder_input
from tsformers.training import training_step as training_step
from tsformers.training import windows as windows

__version__: str
