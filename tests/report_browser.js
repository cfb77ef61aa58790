// report_browser.js - run in the page by report_browser.sh: what a browser makes of a report. The verdict goes to the frame around.
window.addEventListener('load', function () {
  'use strict';
  var failures = [], checks = 0;
  function check(ok, what) {
    checks++;
    if (!ok) failures.push(what);
  }
  function all(selector) { return Array.prototype.slice.call(document.querySelectorAll(selector)); }
  function value(row, column) {
    var cell = row.cells[column];
    return cell.hasAttribute('data-v') ? cell.getAttribute('data-v') : cell.textContent.trim();
  }

  check(window.pageErrors.length === 0, 'errors: ' + window.pageErrors.join('; '));

  check(window.matchMedia('(prefers-color-scheme: dark)').matches === DARK, 'the scheme is another');

  // nothing but what scrolls by itself is wider than the window
  var width = document.documentElement.clientWidth;
  check(width === WIDTH, 'the window is ' + width + ' wide, not ' + WIDTH);
  check(document.documentElement.scrollWidth <= width, 'the page is ' + document.documentElement.scrollWidth + ' wide');
  all('details').forEach(function (d) { d.open = true; });
  check(document.documentElement.scrollWidth <= width, 'unfolded the page is ' + document.documentElement.scrollWidth + ' wide');
  all('h1, h2, h3, p, li, figure, .tile, .scroll, nav').forEach(function (e) {
    var box = e.getBoundingClientRect();
    var inside = e.closest('.scroll, .chart, nav');
    if (!inside || inside === e)
      check(box.left >= 0 && box.right <= width + 1, e.tagName + ' ' + e.textContent.slice(0, 30) + ' ends at ' + box.right);
  });

  // charts have a size; text in them is text
  var charts = all('.chart svg');
  check(charts.length >= CHARTS, charts.length + ' charts');
  charts.forEach(function (svg) {
    var box = svg.getBoundingClientRect();
    check(box.width > 200 && box.height > 100, 'chart ' + svg.getAttribute('aria-label') + ': ' + box.width + ' x ' + box.height);
    check(svg.querySelectorAll('text').length > 3, 'chart without text: ' + svg.getAttribute('aria-label'));
  });
  all('.chart use').forEach(function (use) {
    var target = document.getElementById((use.getAttribute('href') || '').slice(1));
    check(target && target.closest('svg') === use.closest('svg'), 'a symbol is not of its own chart: ' + use.getAttribute('href'));
  });

  // links
  all('a').forEach(function (a) {
    var href = a.getAttribute('href') || '';
    check(href.charAt(0) === '#' && document.getElementById(href.slice(1)), 'link ' + href);
  });

  // sorting: up, down, as numbers; no row gets lost
  var sorted = 0;
  all('table.sortable').forEach(function (table) {
    var head = table.tHead.rows[0].cells, body = table.tBodies[0], count = body.rows.length;
    Array.prototype.forEach.call(head, function (h, column) {
      if (!h.classList.contains('n') || count < 3 || count > 700) return;
      var button = h.querySelector('button');
      check(button, 'no button in ' + h.textContent);
      if (!button) return;
      [['ascending', 1], ['descending', -1]].forEach(function (way) {
        button.click();
        check(h.getAttribute('aria-sort') === way[0], h.textContent + ' is not ' + way[0]);
        check(table.querySelectorAll('[aria-sort]').length === 1, 'two columns claim to be sorted');
        check(body.rows.length === count, 'rows got lost');
        var last = null, empty = false;
        Array.prototype.forEach.call(body.rows, function (row) {
          var text = value(row, column), x = parseFloat(text);
          if (text === '') { empty = true; return; }
          check(!empty, 'an empty cell before ' + text);
          check(last === null || way[1] * (x - last) >= 0, h.textContent + ': ' + last + ' before ' + text);
          last = x;
          sorted++;
        });
      });
    });
  });
  check(sorted > 100, 'only ' + sorted + ' cells were sorted');

  // the filter
  var tools = document.querySelector('.tools'), table = tools && tools.nextElementSibling.querySelector('table');
  check(table, 'no filter');
  if (table) {
    var input = tools.querySelector('input'), rows = Array.prototype.slice.call(table.tBodies[0].rows);
    input.value = 'MATMUL fp32';
    input.dispatchEvent(new Event('input'));
    var shown = rows.filter(function (r) { return !r.hidden; });
    check(shown.length > 0 && shown.length < rows.length, shown.length + ' of ' + rows.length + ' rows pass the filter');
    shown.forEach(function (r) { check(/matmul/.test(r.textContent) && /fp32/.test(r.textContent), 'shown: ' + r.textContent); });
    check(tools.textContent.indexOf(shown.length + ' of ' + rows.length) >= 0, 'the count is not told');
    input.value = '';
    input.dispatchEvent(new Event('input'));
    var select = tools.querySelector('select');
    if (select) {
      select.value = 'wrong';
      select.dispatchEvent(new Event('change'));
      shown = rows.filter(function (r) { return !r.hidden; });
      check(shown.length > 0 && shown.every(function (r) { return r.querySelector('.status.bad'); }), 'status: ' + shown.length + ' rows');
    }
    check(select, 'no choice of a status');
  }

  // explanations
  var mark = document.querySelector('.chart .m');
  check(!CHARTS || mark, 'no point explains itself');
  if (mark) {
    mark.dispatchEvent(new Event('pointerenter'));
    var tip = document.getElementById('tip');
    check(tip && !tip.hidden && tip.textContent.length > 10, 'no explanation');
    check(mark.getAttribute('aria-label') === tip.textContent, 'another explanation: ' + tip.textContent);
  }

  // text stands out from its ground by 4.5 : 1
  function channels(colour) { return (colour.match(/[\d.]+/g) || []).map(Number); }
  function light(c) {
    return c.slice(0, 3).reduce(function (sum, v, i) {
      v /= 255;
      return sum + [0.2126, 0.7152, 0.0722][i] * (v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4));
    }, 0);
  }
  function ground(e) {
    for (; e; e = e.parentElement) {
      var c = channels(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  }
  all('h1, h2, p, li, .what, .value, a, th, figcaption, figcaption span, caption, .status, td.doubt, dt, dd, footer p').slice(0, 3000).forEach(function (e) {
    var a = light(channels(getComputedStyle(e).color)), b = light(ground(e));
    var ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    check(ratio >= 4.5, 'contrast ' + ratio.toFixed(2) + ': ' + e.tagName + ' ' + e.textContent.slice(0, 30));
  });

  check(window.pageErrors.length === 0, 'errors at last: ' + window.pageErrors.join('; '));
  window.parent.postMessage((failures.length ? 'failed' : 'passed') + ': ' + checks + ' checks; ' + failures.slice(0, 20).join(' | '), '*');
});
