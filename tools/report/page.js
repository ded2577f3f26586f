for (const table of document.querySelectorAll('table')) {
  const items = [...table.tBodies], heads = [...table.tHead.rows[0].cells], all = table.parentNode.nextElementSibling;
  const cell = (item, i) => item.rows[0].cells[i], value = (item, i) => cell(item, i).dataset.v ?? cell(item, i).textContent;
  const show = () => items.forEach((item, i) => item.hidden = table.dataset.top <= i);
  for (const item of items)
    heads.forEach((head, i) => cell(item, i).dataset.l = head.textContent);
  table.classList.add('stack');
  heads.forEach((head, i) => {
    const button = document.createElement('button');
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const sign = head.getAttribute('aria-sort') === 'descending' ? 1 : -1;
      heads.forEach(other => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
      items.sort((a, b) => sign * (value(a, i) - value(b, i) || value(a, i).localeCompare(value(b, i))));
      table.append(...items);
      show();
    };
  });
  if (table.dataset.top < items.length) {
    all.hidden = false;
    all.onclick = () => { delete table.dataset.top; all.hidden = true; show(); };
  }
  show();
}
