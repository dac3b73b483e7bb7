/** What leaves the page: downloads and the clipboard. */

/** @param {string} name @param {BlobPart} content @param {string} type */
export function download(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** @param {string} text */
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea"); // plain HTTP from another machine has no clipboard
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** What a style sheet may say of a part of a picture. SVG has an attribute of the same name for each. */
const LOOKS = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "paint-order",
  "opacity",
  "font-size",
  "font-weight",
  "font-family",
  "text-anchor",
  "unicode-bidi",
];

/** A picture as a file of its own: what style sheets gave its parts is written into it. @param {SVGSVGElement} svg */
export function standalone(svg) {
  const copied = /** @type {SVGSVGElement} */ (svg.cloneNode(true));
  const parts = [svg, ...svg.querySelectorAll("*")];
  [copied, ...copied.querySelectorAll("*")].forEach((part, i) => {
    const style = getComputedStyle(parts[i]);
    for (const look of LOOKS) part.setAttribute(look, style.getPropertyValue(look));
    part.setAttribute("text-decoration", style.getPropertyValue("text-decoration-line"));
    part.removeAttribute("class");
    part.removeAttribute("tabindex");
  });
  const { width, height } = svg.getBoundingClientRect();
  copied.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copied.setAttribute("width", String(Math.round(width)));
  copied.setAttribute("height", String(Math.round(height)));
  const background = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  background.setAttribute("width", "100%");
  background.setAttribute("height", "100%");
  background.setAttribute("fill", getComputedStyle(document.documentElement).getPropertyValue("--card").trim());
  copied.prepend(background);
  return new XMLSerializer().serializeToString(copied);
}

/** @param {SVGSVGElement} svg @returns {Promise<Blob>} twice as many pixels as on the page */
export async function asPng(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * 2;
  canvas.height = image.naturalHeight * 2;
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture is too large."))), "image/png"),
  );
}
