// The anomalies as data: the content of each row, which rows match, in which order. Independent of the page.
const anomalies = (data) => {
  const total = data.number.length;
  const shades = "0123456789ABCDEF";
  const parts = 6;
  const cache = new Map();
  const cached = (key, make) => {
    if (!cache.has(key)) cache.set(key, make());
    return cache.get(key);
  };

  const notes = new Map(data.notes.map(([row, at, note]) => [`${row},${at}`, note]));
  const contradicts = new Map(data.contradicts.map(([row, at, text]) => [`${row},${at}`, text]));
  const texts = new Map(data.pieces.map(([row, at, flat]) => [`${row},${at}`, flat.map(([text, strength]) => ({ text, strength: strength / 100, cell: -1 }))]));
  const more = new Map(data.more);
  const wholes = new Map(data.whole);

  // The explained cells of a row, the strongest first.
  const cells = (row) => {
    const flat = data.cells[row], found = [];
    for (let i = 0; i < flat.length; i += parts) {
      const [field, value, share, expected, probability, flags] = flat.slice(i, i + parts);
      const distinct = data.columns[field].texts;
      found.push({
        field, share, probability,
        name: data.columns[field].name, value: distinct[value], expected: distinct[expected], pieces: texts.get(`${row},${i / parts}`) ?? [],
        contradicts: contradicts.get(`${row},${i / parts}`) ?? "",
        note: notes.get(`${row},${i / parts}`) ?? "", odd: (flags & 1) > 0, unseen: (flags & 2) > 0, asExpected: (flags & 4) > 0,
      });
    }
    return found;
  };

  // Whether a column (or, in texts, a token) is odd in a row.
  const isOdd = (row, key) => {
    const flat = data.cells[row];
    for (let i = 0; i < flat.length; i += parts) if (flat[i + data.oddKey] === key && flat[i + 5] & 1) return true;
    return data.oddKey === 0 && (more.get(row) ?? []).includes(key);
  };

  // Where the normal rows nearest to a row differ from it, as maps from columns to values.
  const nearest = (row) => (data.nearest[row] ?? []).map((flat) => {
    const found = new Map();
    for (let i = 0; i < flat.length; i += 2) found.set(flat[i], data.columns[flat[i]].texts[flat[i + 1]]);
    return found;
  });

  // A row that is a text, in pieces: each with how odd it is, and the place of the explained cell it belongs to.
  const pieces = (row) => {
    const whole = text(data.columns[0], row), flat = data.marks[row] ?? [], found = [];
    for (let i = 0, at = 0; i < flat.length; at += flat[i], i += 3) {
      found.push({ text: whole.slice(at, at + flat[i]), strength: flat[i + 1] / 100, cell: flat[i + 2] });
    }
    return found;
  };

  const text = (column, row) => column.texts[column.at[row]];
  // The share by which a cell is shaded, in percent, up to the share with the full shade.
  const share = (row, field) => (row < data.shade.length ? (shades.indexOf(data.shade[row][field]) / 15) * data.full : 0);

  // For each column, which of its texts contain the search text; rows then only look up their places.
  const finder = (searched) => {
    const needle = searched.toLowerCase();
    const hits = (column) => cached(column, () => column.texts.map((one) => one.toLowerCase())).map((one) => one.includes(needle));
    const columns = [...data.columns, ...data.context].map((column) => [column.at, hits(column)]).filter(([, hit]) => hit.includes(true));
    const fields = data.columns.map(hits);
    return (row) => {
      if (String(data.number[row]).includes(needle)) return true;
      for (const [at, hit] of columns) if (row < at.length && hit[at[row]]) return true;
      if (row < data.shade.length) return false;
      const flat = data.cells[row];
      for (let i = 0; i < flat.length; i += parts) if (fields[flat[i]][flat[i + 1]]) return true;
      return false;
    };
  };

  // The rank of each text of a column: numbers by size, then texts in the reader's alphabetical order.
  const places = (column) => cached(column.texts, () => {
    const collator = new Intl.Collator(undefined, { numeric: true });
    const number = column.texts.map((one) => (one.trim() === "" ? NaN : Number(one)));
    const order = column.texts.map((_, i) => i).sort((a, b) => {
      const [x, y] = [number[a], number[b]];
      if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
      if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
      return collator.compare(column.texts[a], column.texts[b]);
    });
    const place = new Array(order.length);
    order.forEach((one, i) => { place[one] = column.texts[one] === "missing" ? Infinity : i; });
    return place;
  });

  // Sort keys of rows; Infinity (missing, or not kept) comes last in either direction.
  const sortKeys = {
    score: () => (row) => total - row,
    number: () => (row) => data.number[row],
    column: (at) => byColumn(data.columns[at]),
    context: (at) => byColumn(data.context[at]),
  };
  const byColumn = (column) => {
    const place = places(column);
    return (row) => (row < column.at.length ? place[column.at[row]] : Infinity);
  };

  // The rows among the first `limit` that match.
  const choose = ({ find, odd, oddity, group, pattern, sort, descending, limit, keeps }) => {
    const matches = find.trim() ? finder(find.trim()) : () => true;
    const rows = [];
    for (let row = 0; row < limit; row += 1) {
      if (!keeps(row)) continue;
      if (group >= 0 && data.group[row] !== group) continue;
      if (pattern >= 0 && data.pattern[row] !== pattern) continue;
      if (odd >= 0 && !isOdd(row, odd)) continue;
      if (oddity >= 0 && data.oddity[row] !== oddity) continue;
      if (matches(row)) rows.push(row);
    }
    const [by, at] = sort.split(":");
    const key = sortKeys[by](Number(at)), direction = descending ? -1 : 1;
    return rows.map((row) => [key(row), row]).sort(([a, i], [b, j]) => {
      if (a === b) return i - j;
      if (a === Infinity || b === Infinity) return a === Infinity ? 1 : -1;
      return direction * (a - b);
    }).map(([, row]) => row);
  };

  // `more`: the odd columns of a row beyond those that are explained; `whole`: its score without what one cell raised.
  return { data, total, cells, pieces, text, share, choose, isOdd, nearest, whole: (row) => wholes.get(row), more: (row) => more.get(row) ?? [] };
};
