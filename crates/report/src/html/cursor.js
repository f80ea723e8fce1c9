// A cursor that moves over all charts that share a time axis. The page reads the same without it.
for (const figure of document.querySelectorAll("figure[data-from]")) {
  const svg = figure.querySelector("svg"), line = svg.querySelector(".cursor"), out = svg.querySelector(".time");
  const [left, right, from, to] = ["left", "right", "from", "to"].map((key) => Number(figure.dataset[key]));
  svg.addEventListener("mousemove", (event) => {
    const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
    const inside = x >= left && x <= right;
    line.style.visibility = out.style.visibility = inside ? "visible" : "hidden";
    line.setAttribute("x1", x); line.setAttribute("x2", x); out.setAttribute("x", Math.min(x + 5, right - 70));
    out.textContent = ((from + (x - left) / (right - left) * (to - from)) / 1e6).toFixed(3) + " ms";
  });
  svg.addEventListener("mouseleave", () => { line.style.visibility = out.style.visibility = "hidden"; });
}
