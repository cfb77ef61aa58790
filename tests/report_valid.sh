# report_valid.sh - reports are HTML without a parse error, by html5lib's count. Skipped where Python or html5lib is missing.
# shellcheck shell=bash disable=SC2317
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "${SOURCE:?}/tests/cli.sh"
roofline=${ROOFLINE:?} sample=$SOURCE/tests/data/sample
if ! python3 -c 'import html5lib' 2>/dev/null; then
    echo 'no html5lib here'
    exit 77
fi
cp -r "$sample" run && chmod -R u+w run
printf 'claim,verdict,why\n<b>,holds,"</td>&amp;"\n' >run/claims.csv
printf 'step,loss\n1,2.5\n2,1.25\n' >run/loss.csv
printf '{"program": {"commit": "</pre><script>"}, "command": ["<!--"]}\n' >run/run.json
for folders in run 'run run'; do
    # shellcheck disable=SC2086  # words
    run "$roofline" report $folders -o page.html
    pass_if "$folders: status $status" [ "$status" -eq 0 ]
    python3 - >parsed 2>err <<'END'
import html5lib
parser = html5lib.HTMLParser()
parser.parse(open("page.html", encoding="utf-8").read())
for at, error, data in parser.errors:
    print(at, error, data)
END
    pass_if "$folders: $(head -n 3 parsed err | tr '\n' ' ')" [ ! -s parsed -a ! -s err ]
done
finish
