"""The adapter to MkDocs: wikilinks, derived parts that blocks print, dead links of the built site, red pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.reading.checking import MIXER, block, check, front, quoted
from tsformers.reading.render import Site, render

ROOT = Path(__file__).resolve().parents[2]
SERVE = """
from mkdocs.commands.build import build
from mkdocs.config import load_config

config = load_config("mkdocs.yml")
config.plugins.on_startup(command="serve", dirty=False)
build(config)
"""

PAGE = (
    MIXER
    + """# 混合层

见 [[02-另一页#自注意力|那里]]、[[02-另一页]] 和 [[#3 顺序图]]。

## 1 在父层中的位置

文字在前。

"""
    + block("call_tree()")
    + """
## 2 I/O 接口

## 3 顺序图

## 5 逐步

### 5.1 归一（`d_model = 4`）

"""
    + quoted("B, L, D = x.shape\ny = x = self.norm(x)")
    + block("pipeline()\nprint('**粗**')")
    + """
## 6 下钻

- [回到归一](#51-归一)
"""
)
OTHER = "# 另一页\n\n## 嵌入\n\n## 自注意力\n\n<!-- reading: status -->\n"


def project(folder, **pages):
    (folder / "docs").mkdir()
    for name, text in pages.items():
        (folder / "docs" / f"{name.replace('_', '-')}.md").write_text(text, encoding="utf-8")
    (folder / "pyproject.toml").write_text("[tool.tsformers.reading]\n", encoding="utf-8")
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    extensions = re.search(r"^markdown_extensions:\n(?: .*\n)+", config, re.MULTILINE)
    assert extensions is not None
    text = "site_name: t\ntheme: {name: material, font: false}\nplugins: [offline, markdown-exec, tsformers-reading]\n"
    (folder / "mkdocs.yml").write_text(text + extensions.group(), encoding="utf-8")
    return folder


def run(folder, *command):
    known = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=known, capture_output=True, text=True, timeout=300
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = project(tmp_path_factory.mktemp("site"), index=PAGE, **{"02_另一页": OTHER})
    status, said = run(folder, "-m", "mkdocs", "build", "--strict")
    assert status == 0, said
    return folder / "site"


def test_a_build_keeps_and_reads_no_records(site):
    """What is published was run when it was built."""
    assert not (site.parent / ".cache").exists()


def test_a_build_that_asks_for_records_gives_the_same_site(site, tmp_path):
    folder = project(tmp_path, index=PAGE, **{"02_另一页": OTHER})
    config = (folder / "mkdocs.yml").read_text(encoding="utf-8")
    asked = config.replace("tsformers-reading]", "{tsformers-reading: {reuse: true}}]")
    (folder / "mkdocs.yml").write_text(asked, encoding="utf-8")
    pages = ("index.html", "index.ipynb")
    anew = [(site / name).read_bytes() for name in pages]
    for turn in range(2):
        status, said = run(folder, "-m", "mkdocs", "build", "--strict")
        assert status == 0, said
        assert [(folder / "site" / name).read_bytes() for name in pages] == anew, turn
    (record,) = (folder / ".cache/reading").iterdir()
    record.write_bytes(b"")
    (folder / "docs/index.md").write_text(PAGE.replace("`d_model = 4`", "`d_model = 5`"), encoding="utf-8")
    line = PAGE[: PAGE.index("`d_model")].count("\n") + 1
    assert f"docs/index.md:{line}:" in run(folder, "-m", "mkdocs", "build", "--strict")[1]


def test_a_child_leads_to_the_page_of_the_same_model(tmp_path):
    child = MIXER + "# 层\n\n" + quoted("B, L, D = x.shape")
    parent = front("twice", "Twice.forward") + "# 父\n\n## 6 下钻\n"
    folder = project(tmp_path, index="# 首页\n")
    both = front("twice", "Twice.forward", "Mixer.forward @ first") + "# 也读\n"  # the layer second
    pages = {"a/层.md": child, "b/也读.md": both, "b/层.md": child, "b/父.md": parent, "c/父.md": parent}
    for name, text in pages.items():
        (folder / "docs" / name).parent.mkdir(exist_ok=True)
        (folder / "docs" / name).write_text(text, encoding="utf-8")
    status, said = run(folder, "-m", "mkdocs", "build", "--strict")
    assert status == 0, said
    for name, address in {"b/父": "层.html", "c/父": "../a/层.html"}.items():
        page = (folder / f"site/{name}.html").read_text(encoding="utf-8")
        assert f'<a href="{quote(address)}">Mixer.forward' in page, name


@pytest.fixture(scope="module")
def html(site):
    return (site / "index.html").read_text(encoding="utf-8")


def test_wikilinks_are_links_that_land(site, html):
    links = dict(re.findall(r'<a href="([^"]*)">([^<]*)</a>', html))
    address = next(address for address, text in links.items() if text == "那里")
    assert unescape(address) in ("02-另一页.html#自注意力", "02-%E5%8F%A6%E4%B8%80%E9%A1%B5.html#自注意力")
    assert 'id="自注意力"' in (site / "02-另一页.html").read_text(encoding="utf-8")
    assert {"02-另一页", "3 顺序图"} <= set(links.values())
    assert "[[" not in re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)


def section(html, begin, end):
    return html[html.index(f'id="{begin}') : html.index(f'id="{end}')]


def test_a_derived_part_that_a_block_prints_stands_where_the_block_is_and_only_there(html):
    first = section(html, "1-在父层中的位置", "2-io-接口")
    assert first.count('class="tsf-tree"') == 1 and first.index("文字在前") < first.index('class="tsf-tree"')
    steps = section(html, "51-归一", "6-下钻")
    assert steps.count("tsf-pipeline") == 1 and steps.index("tsf-step") < steps.index("tsf-pipeline")
    assert "<strong>粗</strong>" in steps
    assert section(html, "2-io-接口", "3-顺序图").count("<table") == 1
    assert "\ufdd0" not in html and "\ufdd1" not in html


def test_the_status_page_counts_every_page(site):
    html = (site / "02-另一页.html").read_text(encoding="utf-8")
    assert '<a href="index.html">混合层</a>' in html and "tests.reading.sample_toys:mixer" in html


def test_a_link_that_is_dead_on_the_built_site_stops_the_build(tmp_path):
    text = '# 页\n\n<a href="none.html">甲</a> <a href="#none">乙</a> <a href="#页">丙</a>\n'
    status, said = run(project(tmp_path, index=text), "-m", "mkdocs", "build")
    assert status != 0
    assert "docs/index.md:1:1: link: 构建出的网站里，none.html 是死链接：none.html 不存在" in said
    assert "#none 是死链接：index.html 里没有锚点 #none" in said
    assert "2 dead links" in said


WRONG = (
    PAGE.replace("`d_model = 4`", "`d_model = 5`")
    + block("import sys\nsys.exit(3)")
    + "见 [[没有这页]]，[也没有](none.md)。\n"
)


def test_a_red_page_stops_the_build_and_is_shown_with_its_failures_by_the_preview(tmp_path):
    folder = project(tmp_path, index=WRONG, **{"02_另一页": OTHER})
    status, said = run(folder, "-m", "mkdocs", "build")
    line = WRONG[: WRONG.index("d_model = 5")].count("\n") + 1
    assert status != 0 and f"docs/index.md:{line}:" in said and not (folder / "site").exists()
    status, said = run(folder, "-c", SERVE)
    assert status == 0, said
    assert f"docs/index.md:{line}:" in said
    html = (folder / "site" / "index.html").read_text(encoding="utf-8")
    box = html[html.index('class="admonition failure"') : html.index("<h1 id=")]
    assert "这一页有 4 处错误" in box and f"<code>{line}:" in box and "没有叫 没有这页 的页" in box
    assert "没有这页" in html and "tsf-step" in html
    marked = re.findall(
        r'([^<>]*(?:</a>)?)<code class="claim tsf-red"[^>]*aria-label="[^"]*link：[^"]*">✗</code>', html
    )
    assert marked == ["见 没有这页", "也没有</a>"]  # behind each link, in none of their addresses


def test_a_block_whose_output_is_shown_as_text_can_hold_no_diagram():
    found = check(block("call_tree()", 'exec="1" result="text"'))
    assert [(f.line, f.kind, f.claim) for f in found.failures] == [(5, "exec", "call_tree()")]


def test_a_page_that_reads_nothing_can_show_the_whole_tree_of_its_toy():
    front = re.sub(r"reads:.*?(?=---)", "", MIXER, flags=re.DOTALL)
    found = check(block("call_tree()\nsequence()"), front=front)
    assert found.failures == [] and found.reading.subjects == []
    rendered = render(found.page, found.reading, Site(), "s0")
    (text,) = rendered.outputs.values()
    (key,) = re.findall(r'```tsf key="([^"]+)"', text)  # of the sequence diagram there is nothing to draw
    html = rendered.fragments[key]
    assert "Mixer.forward" in html and "<strong>" not in html


def test_a_section_on_two_functions_has_a_pipeline_for_each():
    reads = "[tests.reading.sample_toys.Folded.forward, tests.reading.sample_toys.Inner.forward @ inner]"
    pieces = ("return self.inner(x.reshape(-1, 1, x.shape[-1]))", "B, L, D = x.shape\nreturn x.reshape(B * L, D)")
    front = f"---\ntoy: tests.reading.sample_toys:folded\nreads: {reads}\n---\n"
    found = check("### 5.1 合并\n\n" + "".join(f"```python\n{piece}\n```\n\n" for piece in pieces), front=front)
    assert found.failures == []
    fragments = render(found.page, found.reading, Site(), "s0").fragments.values()
    (html,) = [html for html in fragments if "tsf-pipeline" in html]
    assert html.count("tsf-pipeline") == 2


def test_the_names_of_derived_parts_are_no_names_of_the_page():
    found = check("`groups`\n\n" + block("groups = 3\nsource()") + "`groups = 3`\n")
    assert [(f.line, f.kind) for f in found.failures] == [(5, "name")]


def test_a_block_that_prints_a_part_twice_gets_it_twice():
    found = check("## 1 在父层中的位置\n\n" + block("call_tree()\nprint('与')\ncall_tree()"))
    assert found.failures == []
    rendered = render(found.page, found.reading, Site(), "s0")
    (text,) = rendered.outputs.values()
    keys = re.findall(r'```tsf key="([^"]+)"', text)
    assert len(set(keys)) == 2 and [rendered.fragments[key] for key in keys] == [rendered.fragments[keys[0]]] * 2
    assert [key for key in rendered.fragments if "call_tree" in key] == []
