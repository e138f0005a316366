"""The page with sliders: its map in the browser is the library's, and its sliders and player move."""

import json
from pathlib import Path

import numpy as np
import pytest
from bilinear import dynamics, moments

SCRIPT = Path(__file__).parents[1] / "book" / "_static" / "explore" / "two_scalars.js"
SETTINGS = [
    (36, 4, 0.0, 2.0, 0.05, 20_000),
    (36, 4, 1.0, 2.0, 0.05, 20_000),
    (20, 3, 0.1, 0.7, 0.2, 5_000),
    (200, 1, 0.5, 1.0, 0.01, 5_000),
    (4, 3, 0.0, 5.0, 0.5, 1_000),
]


@pytest.fixture(scope="module")
def page(browser):
    page = browser.new_page()
    page.add_script_tag(path=SCRIPT)
    yield page
    page.close()


@pytest.mark.parametrize(("D", "K", "slope", "norm", "step_size", "steps"), SETTINGS)
def test_the_browser_computes_what_the_library_computes(page, D, K, slope, norm, step_size, steps):
    settings = {"D": D, "K": K, "slope": slope, "norm": norm}
    path = page.evaluate("([s, eta, steps]) => TwoScalars.run(s, eta, steps)", [settings, step_size, steps])
    reduced = dynamics.Reduced(D, K, norm, slope)
    c1, delta = reduced.run(step_size, steps, record=path["steps"])
    np.testing.assert_allclose(path["c1"], c1, rtol=1e-6)
    np.testing.assert_allclose(path["delta"], delta, rtol=1e-6)
    np.testing.assert_allclose(path["excess"], reduced.loss(c1, delta), rtol=1e-6)
    assert path["steps"][-1] == steps


def test_the_comparison_can_fail(page):
    settings = {"D": 36, "K": 4, "slope": 0.0, "norm": 2.0}
    path = page.evaluate("([s, eta, steps]) => TwoScalars.run(s, eta, steps)", [settings, 0.05, 2_000])
    c1, _ = dynamics.Reduced(36, 4, 2.0, 0.01).run(0.05, 2_000)
    assert abs(path["c1"][-1] / c1 - 1) > 1e-6


def test_sliders_and_player_move_and_show_the_library_s_numbers(browser, site):
    page = browser.new_page()
    page.goto((site / "book" / "explore.html").as_uri())

    def state():
        return json.loads(page.locator("#explore").get_attribute("data-state"))

    def slide(name, value):
        page.locator(f"#explore input[name={name}]").evaluate(
            "(input, value) => { input.value = value; input.dispatchEvent(new Event('input', {bubbles: true})); }",
            value,
        )

    page.wait_for_selector("#explore[data-state]")
    for name, value in (("D", "24"), ("K", "3"), ("slope", "0.5"), ("share", "0.4"), ("norm", "0")):
        before = state()
        slide(name, value)
        assert state() != before
    now = state()
    assert (now["D"], now["K"], now["slope"], now["norm"]) == (24, 3, 0.5, 1)
    assert now["stepSize"] == pytest.approx(0.4 * 2 * 3 / (moments.alpha(0.5) * 24), rel=1e-12)
    reduced = dynamics.Reduced(24, 3, 1.0, 0.5)
    c1, delta = reduced.run(now["stepSize"], now["step"])
    assert [now["c1"], now["delta"], now["excess"]] == pytest.approx([c1, delta, reduced.loss(c1, delta)], rel=1e-6)

    words = page.locator(".explore-words").inner_text()
    page.locator(".explore-player button").click()
    page.wait_for_function("words => document.querySelector('.explore-words').innerText != words", arg=words)
    first = state()["step"]
    page.wait_for_function(f"JSON.parse(document.querySelector('#explore').dataset.state).step > {first}")
    assert page.locator("#explore .bk-Figure").count() == 3
    page.close()
