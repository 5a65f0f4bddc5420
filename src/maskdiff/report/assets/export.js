// The chosen rows as CSV: one line for each, with its verdict, its odd columns and all its values.
const asCsv = (list, rows, isReviewed) => {
  const { data } = list;
  const { isText } = data;
  // A spreadsheet would run a text that starts like a formula.
  const safe = (text) => (/^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text);
  const quoted = (value) => {
    const text = typeof value === "number" ? String(value) : safe(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const values = (row) => {
    const known = new Map(list.cells(row).map((cell) => [cell.field, cell.value]));
    return data.columns.map((column, field) => list.text(column, row) ?? (isText ? "" : known.get(field) ?? ""));
  };
  const odd = (row) => {
    const explained = list.cells(row).filter((cell) => cell.odd).map((cell) => (isText ? cell.value : cell.name));
    return [...explained, ...list.more(row).map((field) => data.columns[field].name)].join("; ");
  };
  // What makes a row odd; of texts there is nothing to say.
  const oddity = (row) => (isText ? [] : [data.oddities[data.oddity[row]]]);
  const names = (columns) => columns.map((column) => column.name);
  const verdict = ["anomaly_score", "p_value", "reviewed", ...(isText ? [] : ["oddity"]), "odd"];
  const head = ["rank", "row", ...names(data.context), ...verdict, ...names(data.columns)];
  const lines = rows.map((row) => [
    row + 1, data.number[row], ...data.context.map((column) => list.text(column, row)),
    data.score[row], Number(data.pTexts[data.p[row]]), isReviewed(row) ? "yes" : "no", ...oddity(row), odd(row),
    ...values(row),
  ]);
  return [head, ...lines].map((line) => `${line.map(quoted).join(",")}\r\n`).join("");
};

// Hands a text to the reader as a file. The mark at its start tells spreadsheets that it is UTF-8.
const saveText = (text, name) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};
