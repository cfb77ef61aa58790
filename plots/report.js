// report.js - comfort for a page that reads without it: sorting and filtering tables, explanations under the pointer, folded
// parts that open for print and for links into them.
(function () {
  'use strict';

  function cellValue(row, column) {
    var cell = row.cells[column];
    if (!cell) return '';
    return cell.hasAttribute('data-v') ? cell.getAttribute('data-v') : cell.textContent.trim();
  }

  // Numbers as numbers; what is empty comes last either way.
  function compare(a, b, sign) {
    if (a === '' || b === '') return a === b ? 0 : a === '' ? 1 : -1;
    var x = Number(a), y = Number(b);
    if (!isNaN(x) && !isNaN(y)) return sign * (x - y);
    return sign * a.localeCompare(b, 'en', { numeric: true });
  }

  function sortable(table) {
    var heads = Array.prototype.slice.call(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      var button = document.createElement('button');
      button.type = 'button';
      while (head.firstChild) button.appendChild(head.firstChild);
      head.appendChild(button);
      button.addEventListener('click', function () {
        var up = head.getAttribute('aria-sort') !== 'ascending';
        var body = table.tBodies[0];
        var keyed = Array.prototype.map.call(body.rows, function (row, at) {
          return { row: row, at: at, value: cellValue(row, column) };
        });
        keyed.sort(function (p, q) { return compare(p.value, q.value, up ? 1 : -1) || p.at - q.at; });
        keyed.forEach(function (k) { body.appendChild(k.row); });
        heads.forEach(function (h) { h.removeAttribute('aria-sort'); });
        head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      });
    });
  }

  function filterable(table) {
    var rows = Array.prototype.slice.call(table.tBodies[0].rows);
    if (rows.length < 12) return;
    var tools = document.createElement('div'), input = document.createElement('input');
    var select = document.createElement('select'), count = document.createElement('output');
    var column = -1, seen = {};
    tools.className = 'tools';
    input.type = 'search';
    input.placeholder = 'matmul fp32';
    input.setAttribute('aria-label', 'Show rows that have all of these words');
    select.setAttribute('aria-label', 'Show rows of one status');
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (h, i) {
      if (h.textContent.trim().toLowerCase() === 'status') column = i;
    });
    function add(value, text) {
      var option = document.createElement('option');
      option.value = value;
      option.textContent = text;
      select.appendChild(option);
    }
    add('', 'every status');
    rows.forEach(function (row) {
      var value = column < 0 ? '' : cellValue(row, column);
      if (value && !Object.prototype.hasOwnProperty.call(seen, value)) {
        seen[value] = true;
        add(value, value);
      }
    });
    var text = rows.map(function (row) { return row.textContent.toLowerCase(); });
    function show() {
      var words = input.value.toLowerCase().split(/\s+/), shown = 0;
      rows.forEach(function (row, i) {
        var fits = words.every(function (w) { return text[i].indexOf(w) >= 0; }) &&
          (!select.value || cellValue(row, column) === select.value);
        row.hidden = !fits;
        shown += fits;
      });
      count.textContent = shown + ' of ' + rows.length + ' rows';
    }
    input.addEventListener('input', show);
    select.addEventListener('change', show);
    tools.appendChild(input);
    if (select.options.length > 2) tools.appendChild(select);
    tools.appendChild(count);
    var box = table.parentNode;
    box.parentNode.insertBefore(tools, box);
    show();
  }

  // The <title> of a point, at the pointer at once and for fingers too.
  function explain() {
    var tip = document.createElement('div');
    tip.id = 'tip';
    tip.hidden = true;
    document.body.appendChild(tip);
    function hide() { tip.hidden = true; }
    Array.prototype.forEach.call(document.querySelectorAll('.chart .m'), function (mark) {
      var title = mark.querySelector('title'), words = title ? title.textContent : '';
      if (!words) return;
      mark.removeChild(title);
      mark.setAttribute('aria-label', words);
      function show(event) {
        tip.textContent = words;
        tip.hidden = false;
        var left = Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 8);
        tip.style.left = Math.max(8, left) + 'px';
        tip.style.top = Math.max(8, event.clientY - tip.offsetHeight - 12) + 'px';
      }
      mark.addEventListener('pointerenter', show);
      mark.addEventListener('click', show);
      mark.addEventListener('pointerleave', hide);
    });
    window.addEventListener('scroll', hide, { passive: true });
  }

  function openAround(id) {
    var at = id && document.getElementById(id);
    for (; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
  }

  Array.prototype.forEach.call(document.querySelectorAll('table.sortable'), sortable);
  Array.prototype.forEach.call(document.querySelectorAll('table.filter'), filterable);
  explain();
  window.addEventListener('hashchange', function () { openAround(location.hash.slice(1)); });
  var closed = [];
  window.addEventListener('beforeprint', function () {
    closed = Array.prototype.filter.call(document.querySelectorAll('details'), function (d) {
      return !d.open && !d.querySelector('table.filter');
    });
    closed.forEach(function (d) { d.open = true; });
  });
  window.addEventListener('afterprint', function () {
    closed.forEach(function (d) { d.open = false; });
  });
})();
