// Put behind a page under test: what a reader would stumble on, as JSON.
const examine = (frame) => {
  const page = frame.contentDocument, view = frame.contentWindow;
  frame.style.height = page.documentElement.scrollHeight + "px";
  const problems = [], texts = [];
  const clip = (rect, element) => {
    let { left, right, top, bottom } = rect;
    for (let up = element; up; up = up.parentElement) {
      const overflow = view.getComputedStyle(up).overflowX;
      if (overflow === "visible") continue;
      const box = up.getBoundingClientRect();
      left = Math.max(left, box.left); right = Math.min(right, box.right);
      top = Math.max(top, box.top); bottom = Math.min(bottom, box.bottom);
    }
    return { left, right, top, bottom };
  };
  const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.textContent.trim() || element.closest("script, style, title, details:not([open])")) continue;
    if (view.getComputedStyle(element).visibility === "hidden") continue;
    const range = page.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      const shown = clip(rect, element);
      if (shown.right - shown.left < 1 || shown.bottom - shown.top < 1) continue;
      texts.push({ node, element, words: node.textContent.trim().slice(0, 60), scrolls: !!element.closest(".scroll"), ...shown });
    }
  }
  const cover = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  texts.forEach((a, i) => {
    for (const b of texts.slice(i + 1)) if (a.node !== b.node && cover(a, b)) problems.push(`"${a.words}" covers "${b.words}"`);
    if (a.right > view.innerWidth + 1 && !a.scrolls) problems.push(`"${a.words}" leaves the page on the right`);
    if (a.left < -1) problems.push(`"${a.words}" leaves the page on the left`);
  });
  for (const plot of page.querySelectorAll("svg.plot")) {
    const box = plot.getBoundingClientRect();
    for (const text of texts) if (cover(text, box)) problems.push(`"${text.words}" lies over a plot`);
    const bars = [...plot.querySelectorAll("path")].map((path) => path.getBoundingClientRect());
    for (const bar of bars) if (bar.right > box.right + 2 || bar.left < box.left - 2) problems.push("a bar leaves its plot");
  }
  // WCAG: the contrast of what is read.
  const light = (color) => {
    const parts = color.match(/[\d.]+/g).slice(0, 3).map((part) => part / 255)
      .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const paper = light(view.getComputedStyle(page.documentElement).backgroundColor);
  for (const { element, words } of texts) {
    if (element.closest(".bar, .names")) continue;
    const ink = light(view.getComputedStyle(element).color);
    const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (contrast < 4.5) problems.push(`"${words}" has a contrast of ${contrast.toFixed(1)}`);
  }
  for (const scroll of page.querySelectorAll(".scroll")) {
    if (view.getComputedStyle(scroll).overflowX === "visible" && scroll.scrollWidth > view.innerWidth + 1) problems.push("a table is wider than the paper");
  }
  return { name: frame.title, texts: texts.length, width: view.innerWidth, dark: paper < 0.2, problems: problems.slice(0, 40) };
};
window.addEventListener("load", () => {
  const found = document.createElement("pre");
  found.id = "found";
  found.textContent = JSON.stringify([...document.querySelectorAll("iframe")].map(examine));
  document.body.append(found);
});
