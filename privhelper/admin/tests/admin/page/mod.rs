//! The report's page in a real browser: it stands alone, and can be read on a screen, on a phone, at night and on paper.

mod browser;

use crate::site;
use browser::{Browser, Scheme, album};

fn page() -> String {
    site::host().run(&["policy", "report", "--host", "web-01", "--format", "html"]).out
}

/// The page as if it had forbidden nothing.
fn lenient(page: &str) -> String {
    let lenient = page.replace("Content-Security-Policy", "x-nothing");
    assert_ne!(lenient, page);
    lenient
}

#[test]
fn the_page_makes_no_network_request() {
    let (browser, page) = (Browser::new(), page());
    let image =
        "<img src=\"http://127.0.0.1:9/x.png\"><link rel=stylesheet href=\"https://e.invalid/x.css\">";
    assert_eq!(browser.requests(&page), [""; 0]);
    assert_eq!(browser.requests(&lenient(&page)), [""; 0], "also without the rule that forbids it");
    // The control: what is asked for is seen, and the page's own rule stops it.
    let smuggled = page.replace("</main>", &format!("{image}</main>"));
    assert_eq!(browser.requests(&lenient(&smuggled)).len(), 2);
    assert_eq!(browser.requests(&smuggled), [""; 0]);
}

#[test]
fn the_page_is_well_formed_and_escapes_hostile_text() {
    let (browser, page) = (Browser::new(), page());
    let dom = browser.dom(&page);
    let count = |what: &str| dom.matches(what).count();
    assert_eq!((count("<h1>"), count("<script"), count("<img")), (1, 0, 0));
    assert_eq!(count("<table"), count("<caption>"));
    // Seven rules and three groups of people are heads of their rows.
    assert_eq!(count("scope=\"row\""), 10);
    assert_eq!(count("&lt;script&gt;alert(1)&lt;/script&gt; \"quoted\" 'n' &amp; \\u{202e}turned"), 1);
    let targets =
        dom.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()).collect::<Vec<_>>();
    assert!(targets.len() > 10);
    for target in targets {
        assert_eq!(count(&format!("id=\"{target}\"")), 1, "#{target} leads nowhere, or to two places");
    }
}

/// Of all elements that show text: the least contrast to what is behind it, and the smallest letters.
const SIGHT: &str = r"(() => {
  const w = d.defaultView, rgb = c => c.match(/[\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = rgb(c).map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const c = w.getComputedStyle(e).backgroundColor;
    if (rgb(c)[3] !== 0) return c; } return 'rgb(255, 255, 255)'; };
  let contrast = 99, worst = '', letters = 99, number = 0;
  for (const e of d.body.querySelectorAll('*')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const s = w.getComputedStyle(e), [a, b] = [light(s.color), light(behind(e))].sort((a, b) => b - a);
    const c = (a + .05) / (b + .05);
    if (c < contrast) { contrast = c; worst = e.outerHTML.slice(0, 80); }
    letters = Math.min(letters, parseFloat(s.fontSize)); number++;
  }
  return { contrast, worst, letters, number, paper: light(w.getComputedStyle(d.body).backgroundColor),
    first: d.querySelector('#overview').getBoundingClientRect().bottom, wide: d.documentElement.scrollWidth, width: d.documentElement.clientWidth };
})()";

#[test]
fn the_page_renders_in_light_and_dark_mode_on_wide_and_narrow_screens() {
    let (browser, page) = (Browser::new(), page());
    for width in [1280, 768, 390, 320] {
        for scheme in [Scheme::Light, Scheme::Dark] {
            let sight = browser.measure(&page, width, scheme, SIGHT);
            let number = |key: &str| sight[key].as_f64().unwrap();
            // WCAG 2 AA for small text.
            assert!(number("contrast") >= 4.5, "{width} {scheme:?}: {sight}");
            assert!(number("letters") >= 12.0, "{width} {scheme:?}: {sight}");
            assert!(number("number") > 150.0, "{sight}");
            assert_eq!(sight["width"], width);
            assert!(number("wide") <= number("width"), "{width}: wider than the window: {sight}");
            // The overview (who may do what, what needs a person, what amounts to root) fits one screen, and two of a phone.
            let screen = if width >= 1280 { 900.0 } else { 2.0 * 844.0 };
            assert!(number("first") <= screen, "{width}: {sight}");
            assert_eq!(number("paper") < 0.1, scheme == Scheme::Dark, "{sight}");
        }
    }
}

#[test]
fn the_page_is_saved_as_screenshots() {
    let (browser, page, album) = (Browser::new(), page(), album());
    let at = |name: &str| album.join(name);
    let light = browser.picture(&page, (1280, 2800), Scheme::Light, &at("light.png"));
    let dark = browser.picture(&page, (1280, 2800), Scheme::Dark, &at("dark.png"));
    let narrow = browser.picture(&page, (500, 4000), Scheme::Light, &at("narrow.png"));
    // An empty page of these sizes takes some 20 KB.
    for png in [&light, &dark, &narrow] {
        assert!(png.len() > 100_000, "{} bytes", png.len());
    }
    assert_ne!(light, dark);
    let pdf = browser.paper(&page, &at("paper.pdf"));
    assert!(pdf.starts_with(b"%PDF"));
    let pages = pdf.windows(11).filter(|bytes| *bytes == b"/Type /Page").count();
    // The tree of pages is one more.
    assert!((3..=6).contains(&pages), "{pages} pages, its tree included");
}

#[test]
fn the_page_prints_in_light_colours_in_dark_mode() {
    let (browser, page) = (Browser::new(), page());
    // As if the screen were paper: the rules of both apply.
    let paper = page.replace("@media print", "@media screen");
    assert_ne!(paper, page);
    let sight = browser.measure(&paper, 900, Scheme::Dark, SIGHT);
    assert!(sight["paper"].as_f64().unwrap() > 0.9, "{sight}");
    assert!(sight["contrast"].as_f64().unwrap() >= 4.5, "{sight}");
    let heads = "[...d.querySelectorAll('thead')].every(e => d.defaultView.getComputedStyle(e).display === 'table-header-group')";
    assert_eq!(
        browser.measure(&paper, 900, Scheme::Light, heads),
        true,
        "heads of tables repeat on each page"
    );
}
