"""Which skills fit a query: skillbelt.search."""

from __future__ import annotations

import pickle
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillbelt import search as module
from skillbelt.models import SkillSummary
from skillbelt.search import LexicalSearcher, keywords, stem


def skills(**described: str) -> tuple[SkillSummary, ...]:
    return tuple(SkillSummary(name=n.replace("_", "-"), description=d) for n, d in described.items())


def names(query: str, among: tuple[SkillSummary, ...], k: int = 5) -> list[str]:
    return [match.summary.name for match in LexicalSearcher().search(query, among, k=k)]


OFFICE = skills(
    pdf_forms="Fills PDF forms and lists their fields. Use when a PDF must be completed.",
    mail="Writes and answers e-mails in the house tone.",
    ledger="Reconciles a ledger in two passes.",
    deploy_to_staging="Deploys a service to staging and checks its health.",
    charts="Draws charts from CSV files, with forms of any colour.",
)


# --- what is found ---


def test_a_plural_in_the_query_finds_the_singular():
    assert names("ledgers", OFFICE) == ["ledger"]


def test_another_form_of_a_verb_is_found():
    assert names("deploying", OFFICE) == names("deployment", OFFICE) == ["deploy-to-staging"]


def test_a_word_of_the_name_counts_more_than_one_of_the_description():
    assert names("form", OFFICE) == ["pdf-forms", "charts"]


def test_a_rare_word_counts_more_than_a_frequent_one():
    among = skills(a="report report", b="report", c="report", d="zebra")
    assert names("zebra report", among)[0] == "d"


def test_a_name_and_nothing_else_comes_first_whatever_descriptions_say():
    among = skills(pdf_x="PDF, PDF", pdf="Portable documents of every kind and size, for office and home.")
    assert names("pdf", among)[0] == "pdf"
    assert names("PDF pdf", among)[0] == "pdf"


def test_a_name_is_split_at_every_separator_and_at_camel_case():
    among = tuple(
        SkillSummary(name=name, description="-")
        for name in ("acme/reportWriter", "tools:lint_python", "HTMLParser", "http2-client")
    )
    assert names("writer", among) == ["acme/reportWriter"]
    assert names("acme", among) == ["acme/reportWriter"]
    assert names("reportwriter", among) == ["acme/reportWriter"]
    assert names("lint", among) == names("python", among) == ["tools:lint_python"]
    assert names("parser", among) == ["HTMLParser"]
    assert names("http2", among) == ["http2-client"]


def test_a_skill_that_shares_no_word_is_not_returned():
    assert names("quantum chromodynamics", OFFICE) == []


def test_filler_words_alone_find_no_description():
    assert names("use when", OFFICE) == []


def test_filler_words_still_find_a_name_made_of_them():
    assert names("how to", skills(how_to="Guides.", other="How to do it.")) == ["how-to"]


def test_at_most_k_are_returned_and_the_best_of_them():
    among = tuple(SkillSummary(name=f"s{i}", description="tea " * (i + 1) + "cup") for i in range(10))
    best = names("tea", among, k=10)
    assert names("tea", among, k=3) == best[:3]
    assert names("tea", among, k=0) == names("tea", among, k=-1) == []


def test_equal_scores_are_in_order_of_the_name_whatever_the_order_given():
    among = skills(b="tea", c="tea", a="tea")
    assert names("tea", among) == ["a", "b", "c"] == names("tea", among[::-1])


@pytest.mark.parametrize("query", ["", "   ", "?!", "\x00", "-_/:"])
def test_a_query_without_words_finds_nothing(query):
    assert LexicalSearcher().search(query, OFFICE) == ()


def test_no_skills_means_no_matches():
    assert LexicalSearcher().search("pdf", ()) == ()


def test_an_empty_description_is_no_obstacle():
    assert names("tea", skills(tea="", cup="")) == ["tea"]


# --- why ---


def test_why_holds_the_words_found_as_they_were_typed():
    (match, *_) = LexicalSearcher().search("Please FILL the Forms in my Zebra's PDF", OFFICE)
    assert match.summary.name == "pdf-forms"
    assert match.why == ("fill", "forms", "pdf")


def test_why_names_a_word_once_however_often_it_was_typed():
    (match, *_) = LexicalSearcher().search("ledger ledgers LEDGER", OFFICE)
    assert match.why == ("ledger",)


# --- languages ---


def test_chinese_is_found_by_pairs_of_characters():
    among = skills(boats="给船起名。触发词: 渔船, 帆船。", forms="填写PDF表单。")
    assert names("帮我填写表单", among) == ["forms"]
    assert names("渔船", among) == ["boats"]


def test_a_latin_word_inside_a_chinese_sentence_is_a_word():
    assert names("pdf", skills(forms="填写PDF表单。", other="别的")) == ["forms"]


def test_width_and_case_do_not_matter():
    assert names("\uff30\uff24\uff26", OFFICE) == ["pdf-forms"]
    assert names("STRASSE", skills(a="Straße", b="Weg")) == ["a"]


def test_a_composed_and_a_decomposed_accent_are_the_same():
    assert names("re\u0301sume\u0301", skills(a="r\u00e9sum\u00e9", b="resume")) == ["a"]


def test_hindi_words_are_not_cut_at_their_vowel_signs():
    assert keywords("हिन्दी में") == {"हिन्दी": "हिन्दी", "में": "में"}


@pytest.mark.parametrize(("query", "text"), [("การแปล", "บริการแปลเอกสาร"), ("번역", "문서를 번역합니다")])
def test_scripts_without_spaces_or_with_endings_are_found_inside_words(query, text):
    assert names(query, skills(translate=text, other="x")) == ["translate"]


# --- stems ---


@pytest.mark.parametrize(
    "family",
    [
        "form forms",
        "query queries querying queried",
        "box boxes",
        "class classes",
        "process processes processing processed",
        "create creates creating created creation",
        "code codes coding coded",
        "plan plans planning planned",
        "fill fills filling filled",
        "merge merging merged",
        "write writes writing",
        "document documents documenting documentation",
        "deploy deploying deployment deployments",
        "summarize summarise summarizing summarisation summarizations",
        "analyze analyse analysis analyses analysing",
        "automatic automatically",
        "week weekly",
        "api apis",
        "user user's users'",
        "base based",
    ],
)
def test_the_forms_of_a_word_have_one_stem(family):
    assert len({stem(word) for word in family.split()}) == 1


@pytest.mark.parametrize(
    "word", ["status", "css", "js", "string", "spring", "thing", "need", "speed", "redis", "bus", "reply", "42s"]
)
def test_a_word_that_only_looks_inflected_is_left_alone(word):
    assert stem(word) == word


@pytest.mark.parametrize(("one", "other"), [("custom", "customer"), ("part", "party"), ("test", "tester")])
def test_different_words_keep_different_stems(one, other):
    assert stem(one) != stem(other)


@given(st.text())
def test_any_text_can_be_cut_into_words_and_its_words_find_it(text):
    found = keywords(text)
    assert all(term and typed for term, typed in found.items())
    among = (SkillSummary(name="x", description="."), SkillSummary(name="hit", description=text))
    if any(typed.casefold() not in module._STOPWORDS for typed in found.values()):
        assert "hit" in names(text, among)


# --- the index is a cache ---


def test_an_equal_sequence_reuses_the_index(monkeypatch):
    built = []
    real = module._Index
    monkeypatch.setattr(module, "_Index", lambda content: built.append(1) or real(content))
    searcher = LexicalSearcher()
    for given_skills in (OFFICE, OFFICE, list(OFFICE), tuple(s.model_copy() for s in OFFICE)):
        assert searcher.search("pdf", given_skills)
    assert len(built) == 1
    assert searcher.search("pdf", OFFICE[:2])
    assert searcher.search("pdf", OFFICE)
    assert len(built) == 2


def test_a_changed_list_is_noticed():
    searcher = LexicalSearcher()
    mutable = list(OFFICE)
    assert not searcher.search("zebra", mutable)
    mutable[0] = SkillSummary(name="zebra", description="Stripes.")
    assert searcher.search("zebra", mutable)[0].summary.name == "zebra"


def test_only_a_few_indexes_are_kept():
    searcher = LexicalSearcher()
    for i in range(20):
        searcher.search("pdf", skills(**{f"a{i}": "pdf"}))
    assert len(searcher._indexes) == module._KEPT


def test_threads_share_a_searcher_and_get_the_same_answers():
    searcher = LexicalSearcher()
    views = [OFFICE[:n] for n in (1, 2, 3, 4, 5)]
    expected = [LexicalSearcher().search("pdf forms mail", view) for view in views]
    wrong: list[object] = []

    def work() -> None:
        for _ in range(50):
            for view, right in zip(views, expected, strict=True):
                if searcher.search("pdf forms mail", view) != right:
                    wrong.append(view)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_searcher_can_be_pickled():
    searcher = LexicalSearcher()
    before = searcher.search("pdf", OFFICE)
    assert pickle.loads(pickle.dumps(searcher)).search("pdf", OFFICE) == before


def test_a_second_query_over_a_thousand_skills_takes_under_a_millisecond():
    verbs = ("Reviews", "Writes", "Deploys", "Tests", "Plans")
    things = ("services", "reports", "forms", "releases", "schemas", "invoices", "pull requests")
    many = tuple(
        SkillSummary(
            name=f"{things[i % 7].split()[0]}-{i}",
            description=f"{verbs[i % 5]} {things[i % 7]} of team {i}, and {things[(i + 3) % 7]}. Use when asked.",
        )
        for i in range(1000)
    )
    searcher = LexicalSearcher()
    searcher.search("x", many)
    fastest = 1.0
    for _ in range(50):
        start = time.perf_counter()
        searcher.search("please review the schemas of team 17", many)
        fastest = min(fastest, time.perf_counter() - start)
    assert fastest < (0.02 if sys.gettrace() else 0.001)  # coverage slows it down
