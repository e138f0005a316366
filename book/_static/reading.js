// A box with the statement when the reader rests on a link to it; boxes that scroll; print; the arrows of the graph.
// The texts are loaded at the first such rest, as a script, so that this works from a folder too.
(() => {
  const target = /#((?:thm|prop|lem|cor|def|term|remark|example)-[^#]+)$/;
  const here = document.currentScript.src;
  let box, timer, link;

  const load = () =>
    (load.started ??= new Promise((resolve) => {
      const script = document.createElement("script");
      script.src = new URL("preview-texts.js", here).href;
      script.onload = script.onerror = () => resolve(window.previews || {});
      document.head.append(script);
    }));

  const hide = () => {
    clearTimeout(timer);
    if (box) box.remove();
    if (link) link.removeAttribute("aria-describedby");
    box = link = null;
  };

  const show = async (a, name) => {
    const text = (await load())[name];
    if (link !== a || !text) return;
    box = document.createElement("div");
    box.className = "preview";
    box.id = "preview";
    box.setAttribute("role", "tooltip");
    box.innerHTML = text;
    // A page without formulas has no MathJax: show the title there.
    if (text.includes("\\(") && !window.MathJax) {
      const title = box.querySelector(".admonition-title, p");
      box.replaceChildren(title);
    }
    document.body.append(box);
    if (window.MathJax?.typesetPromise) await MathJax.typesetPromise([box]);
    if (link !== a) return;
    const at = a.getBoundingClientRect();
    const wide = box.offsetWidth, tall = box.offsetHeight;
    box.style.left = `${Math.max(8, Math.min(at.left, document.documentElement.clientWidth - wide - 8)) + scrollX}px`;
    const below = at.bottom + 6;
    box.style.top = `${(below + tall < innerHeight || at.top < tall ? below : at.top - tall - 6) + scrollY}px`;
    box.addEventListener("mouseenter", () => clearTimeout(timer));
    box.addEventListener("mouseleave", leave);
    a.setAttribute("aria-describedby", "preview");
  };

  const enter = (event) => {
    const a = event.target.closest?.("article a[href*='#']");
    if (!a || a === link) return clearTimeout(timer);
    const name = target.exec(decodeURIComponent(a.hash))?.[1];
    hide();
    if (!name) return;
    link = a;
    timer = setTimeout(() => show(a, name), event.type === "focusin" ? 0 : 250);
  };
  const leave = () => {
    clearTimeout(timer);
    timer = setTimeout(hide, 250);
  };

  document.addEventListener("mouseover", (event) => event.target.closest?.("article a[href*='#']") && enter(event));
  document.addEventListener("mouseout", (event) => link?.contains(event.target) && leave());
  document.addEventListener("focusin", enter);
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());

  // A formula in a line of text that is wider than its column gets a box of its own, and the keyboard reaches each box
  // that scrolls.
  const fit = () => {
    for (const formula of document.querySelectorAll("article mjx-container:not([display])")) {
      formula.classList.remove("wide");
      const column = formula.closest("p, li, dd, td, th, div, figcaption");
      formula.classList.toggle("wide", formula.offsetWidth > column.clientWidth);
    }
    for (const e of document.querySelectorAll("article :is(div.math, mjx-container, pre, .output, .table-wrapper, .pst-scrollable-table-container)")) {
      if (e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(e).overflowX)) e.tabIndex = 0;
    }
  };
  let fitting;
  const refit = () => {
    clearTimeout(fitting);
    fitting = setTimeout(fit, 50);
  };
  window.addEventListener("load", () => (window.MathJax?.startup?.promise ?? Promise.resolve()).then(fit));
  window.addEventListener("resize", refit);

  // Paper is white, and cannot be unfolded.
  let theme, folded;
  window.addEventListener("beforeprint", () => {
    theme = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const e of folded) e.open = true;
  });
  window.addEventListener("afterprint", () => {
    document.documentElement.dataset.theme = theme;
    for (const e of folded) e.open = false;
  });

  const graph = document.querySelector(".claim-graph");
  const choose = (event) => {
    const label = event.target.closest?.("a.claim")?.dataset.label;
    for (const near of graph.querySelectorAll(".near")) near.classList.remove("near");
    graph.classList.toggle("chosen", Boolean(label));
    if (!label) return;
    const names = new Set([label]);
    for (const arrow of graph.querySelectorAll(".uses")) {
      const users = arrow.dataset.by.split(" ");
      if (arrow.dataset.used !== label && !users.includes(label)) continue;
      arrow.classList.add("near");
      if (arrow.dataset.used === label) users.forEach((user) => names.add(user));
      else names.add(arrow.dataset.used);
    }
    for (const node of graph.querySelectorAll("a.claim")) node.classList.toggle("near", names.has(node.dataset.label));
  };
  if (graph) for (const kind of ["mouseover", "mouseleave", "focusin", "focusout"]) graph.addEventListener(kind, choose);
})();
