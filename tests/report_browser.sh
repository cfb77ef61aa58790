# report_browser.sh - reports opened in headless Chromium, as wide as a phone and as a desk, light and dark. Skipped without one.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?} sample=$SOURCE/tests/data/sample browser=''
for name in chromium chromium-browser google-chrome google-chrome-stable chrome-headless-shell; do
    [ -n "$browser" ] || browser=$(command -v $name) || true
done
if [ -z "$browser" ]; then
    echo 'no Chromium here'
    exit 77
fi
charts=1
command -v gnuplot >/dev/null || charts=0

# view FILE WIDTH HEIGHT SCHEME: opens it with the checks in it. In a frame: no window is as narrow as a phone.
view() {
    local dark=false script
    [ "$4" = light ] || dark=true
    script="const WIDTH = $2, DARK = $dark, CHARTS = $charts; window.pageErrors = [];"
    script+="window.addEventListener('error', function (e) { window.pageErrors.push(e.message); });"
    script+="console.error = console.warn = function (x) { window.pageErrors.push(String(x)); };"
    {
        sed '/^<head>$/q' "$1"
        printf '<script>%s\n' "$script"
        cat "$SOURCE/tests/report_browser.js"
        printf '</script>\n'
        sed '1,/^<head>$/d' "$1"
    } >viewed.html
    cat >frame.html <<END
<!DOCTYPE html><title>frame</title><body style="margin:0"><script>
window.addEventListener('message', function (e) {
  var verdict = document.createElement('pre');
  verdict.id = 'verdict';
  verdict.textContent = e.data;
  document.body.appendChild(verdict);
});
</script><iframe src="viewed.html" width="$2" height="$3" style="border:0"></iframe></body>
END
    local flags=()
    [ "$4" = light ] || flags=(--blink-settings=preferredColorScheme=0)
    timeout 200 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --no-first-run \
        --user-data-dir="$PWD/profile" --enable-logging=stderr --window-size=1500,1000 "${flags[@]}" \
        --virtual-time-budget=20000 --dump-dom "file://$PWD/frame.html" >dom 2>log </dev/null || true
    grep -E 'CONSOLE' log >err || true
    pass_if "$1, $2x$3, $4: messages on the console" [ ! -s err ]
    grep -o '<pre id="verdict">.*' dom >verdict || echo "no verdict; $(tail -n 3 log)" >verdict
    pass_if "$1, $2x$3, $4: $(cut -c 1-600 verdict)" grep -q '<pre id="verdict">passed: [0-9]\{4\}' verdict
}

cp -r "$sample" run && chmod -R u+w run
printf 'step,loss\n1,2.5\n2,1.25\n3,0.5\n4,0.25\n' >run/loss.csv
cp -r run other && sed -i 's/sample-cpu/a-device-with-a-name-that-is-as-long-as-names-of-devices-can-be-and-then-some-more/' other/*.csv
run "$roofline" report run -o one.html
pass_if "one run: status $status" [ "$status" -eq 0 ]
run "$roofline" report run other run -o three.html
pass_if "three runs: status $status" [ "$status" -eq 0 ]

view one.html 390 844 light
view one.html 1440 900 light
view one.html 390 844 dark
view three.html 360 740 light
view three.html 1440 900 dark
finish
