// Runs before the first paint, so that the page never flashes in the other colour scheme.
try {
  const theme = localStorage.getItem("agent-feedback-theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch { /* no storage: the choice is not remembered */ }
