// The rows a reader has reviewed, kept by the browser under the page's digest. Where a browser denies storage, the
// marks last as long as the page is open.
const reviewedRows = (digest) => {
  const key = `maskdiff-reviewed-${digest}`;
  const load = () => {
    try { return JSON.parse(localStorage.getItem(key) ?? "[]"); } catch { return []; }
  };
  const rows = new Set(load());
  return {
    has: (row) => rows.has(row),
    mark: (row, reviewed) => {
      if (reviewed) rows.add(row); else rows.delete(row);
      try { localStorage.setItem(key, JSON.stringify([...rows])); } catch { /* not stored */ }
    },
  };
};
