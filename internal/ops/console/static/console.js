// What pages do beyond links and forms. They work without it.
"use strict";

// Buttons copy the text of the element that they name.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const from = document.getElementById(button.dataset.copy);
  const text = from.value ?? from.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch { // there is no clipboard on plain http, except on this machine
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const said = button.textContent;
  button.textContent = "Copied";
  button.disabled = true;
  setTimeout(() => { button.textContent = said; button.disabled = false; button.focus(); }, 1500);
});

// Enter searches; a new line in the box takes the shift key.
document.addEventListener("keydown", (event) => {
  if (event.target.id === "search" && event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
  if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.target.closest("input, textarea, select")) {
    event.preventDefault();
    document.getElementById("search")?.focus();
  }
});

// The badge says whether the page gets live updates. htmx reconnects after a stream, but not after a failed first request.
const connectAgainAfter = 5000; // ms
const live = (text) => (event) => {
  const badge = event.target.closest?.("#live");
  if (!badge) return;
  badge.querySelector("span").textContent = text;
  badge.classList.toggle("on", text === "Live");
  if (text === "Not live") {
    setTimeout(() => htmx.ajax("GET", badge.getAttribute("hx-sse:connect"), { source: badge }), connectAgainAfter);
  }
};
document.addEventListener("htmx:sse:after:connection", live("Live"));
document.addEventListener("htmx:sse:error", live("Connecting"));
document.addEventListener("htmx:response:error", live("Not live"));
document.addEventListener("htmx:error", live("Not live"));
