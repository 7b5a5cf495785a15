"""Settings come from the nearest pyproject.toml above a page."""

from __future__ import annotations

import pytest

from tsformers.reading.settings import Settings, SettingsError, load_settings


def project(folder, table, name="pyproject.toml"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(table, encoding="utf-8")
    return folder


def test_the_nearest_file_counts(tmp_path):
    project(tmp_path, "[tool.tsformers.reading]\ntime_limit = 5\n")
    inner = project(tmp_path / "a", '[tool.tsformers.reading]\ntime-limit = 7.5\nunits = ["次"]\ncoverage = 100\n')
    (inner / "b").mkdir()
    found = load_settings(inner / "b" / "page.md")
    assert (found.root, found.time_limit, found.units, found.coverage) == (inner, 7.5, ("次",), 100)
    assert load_settings(tmp_path / "page.md").time_limit == 5
    assert load_settings(inner).root == inner


def test_a_file_without_the_table_means_the_defaults(tmp_path):
    project(tmp_path, "[project]\nname = 'a'\n")
    assert load_settings(tmp_path / "page.md") == Settings(tmp_path)


def test_terms_and_pages(tmp_path):
    project(tmp_path, '[tool.tsformers.reading]\nterms = "docs/terms.yml"\n')
    project(tmp_path / "docs", "指标: 含义\nMAE: null\n", "terms.yml")
    project(tmp_path / "docs" / "sub", "文", "页.md")
    found = load_settings(tmp_path / "docs" / "sub" / "页.md")
    assert found.known_terms == {"指标", "MAE"} and found.pages == {"页"}
    project(tmp_path / "docs", "- 指标\n- 2\n", "terms.yml")
    assert load_settings(tmp_path).known_terms == {"指标", "2"}
    project(tmp_path / "docs", "", "terms.yml")
    assert load_settings(tmp_path).known_terms == frozenset()


@pytest.mark.parametrize(
    ("table", "part"),
    [
        ("[tool.tsformers.reading\n", "pyproject.toml"),
        ("[tool.tsformers.reading]\ntime_limt = 5\n", "time_limt"),
        ("[tool.tsformers.reading]\ntime_limit = '5'\n", "time_limit"),
        ("[tool.tsformers.reading]\ntime_limit = true\n", "time_limit"),
        ("[tool.tsformers.reading]\ntime_limit = 0\n", "time_limit"),
        ("[tool.tsformers.reading]\ntime_limit = nan\n", "time_limit"),
        ("[tool.tsformers.reading]\nunits = '次'\n", "units"),
        ("[tool.tsformers.reading]\nknown_terms = ['a']\n", "known_terms"),
        ("[tool.tsformers]\nreading = 3\n", "table"),
        ("[tool.tsformers.reading]\nterms = 'none.yml'\n", "none.yml"),
        ("[tool.tsformers.reading]\nterms = 'pyproject.toml'\n", "pyproject.toml"),
    ],
)
def test_what_cannot_be_used_is_an_error_that_names_the_file(tmp_path, table, part):
    project(tmp_path, table)
    with pytest.raises(SettingsError, match="toml|yml") as caught:
        load_settings(tmp_path / "page.md")
    assert part in str(caught.value)


def test_terms_that_are_no_mapping(tmp_path):
    project(tmp_path, "[tool.tsformers.reading]\nterms = 'terms.yml'\n")
    project(tmp_path, "a word\n", "terms.yml")
    with pytest.raises(SettingsError, match="mapping"):
        load_settings(tmp_path)
