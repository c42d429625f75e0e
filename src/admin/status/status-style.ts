/** The look of the status page: one column on a phone, light or dark as the reader's system is. */
export const STATUS_STYLE = `
:root { color-scheme: light dark; --back: #f6f7f9; --card: #fff; --text: #1b1f24; --soft: #59636e; --line: #d8dee4;
  --good: #1a7f37; --bad: #c62828; --wait: #8a5a00; --good-back: #dafbe1; --bad-back: #ffe3e0; --wait-back: #fff1cc;
  --plain-back: #e8ebef; --ink: #0969da; }
@media (prefers-color-scheme: dark) { :root { --back: #0f1419; --card: #182028; --text: #e6edf3; --soft: #9aa7b4;
  --line: #2d3843; --good: #56d364; --bad: #ff8a80; --wait: #e3b341; --good-back: #12351d; --bad-back: #4a1a18;
  --wait-back: #3a2d0a; --plain-back: #26313c; --ink: #58a6ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
header { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: center; margin-bottom: 1rem; }
h1 { font-size: 1.35rem; margin: 0; }
h2 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
h2 .soft { margin-left: .5rem; }
h3 { font-size: 1.05rem; margin: 0; display: flex; flex-wrap: wrap; gap: .25rem .5rem; align-items: center; }
p { margin: .5rem 0 0; }
.soft { color: var(--soft); font-size: .875rem; font-weight: 400; }
.right { margin-left: auto; }
.cards { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 23rem), 1fr)); align-items: start; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1rem; min-width: 0; }
.cards .card { max-width: 46rem; }
.badge { border-radius: .8rem; padding: .05rem .6rem; font-size: .8rem; font-weight: 600; background: var(--plain-back);
  color: var(--text); display: inline-block; }
.note { border-radius: .4rem; padding: .5rem .7rem; margin-top: .7rem; white-space: pre-line; font-size: .875rem;
  background: var(--plain-back); }
.good { background: var(--good-back); color: var(--good); }
.bad { background: var(--bad-back); color: var(--bad); }
.wait { background: var(--wait-back); color: var(--wait); }
dl { display: grid; grid-template-columns: minmax(6rem, auto) 1fr; gap: .2rem .9rem; margin: .7rem 0 0; font-size: .925rem; }
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; font-variant-numeric: tabular-nums; }
figure { margin: .9rem 0 0; font-size: .925rem; }
svg { display: block; width: 100%; }
.chart { max-width: 30rem; margin-top: .3rem; font-size: 13px; fill: var(--soft); overflow: visible; }
.chart .bars { fill: var(--ink); }
.chart .axis { stroke: var(--soft); stroke-width: 1; fill: none; }
.chart .start { stroke: var(--soft); stroke-dasharray: 2 3; fill: none; }
.bar { height: .5rem; margin-top: .3rem; border-radius: .25rem; max-width: 22rem; }
.bar .rest { fill: var(--plain-back); }
.bar .plain { fill: var(--ink); }
.bar .good { fill: var(--good); }
.bar .bad { fill: var(--bad); }
details { font-size: .875rem; color: var(--soft); }
summary { cursor: pointer; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; color: var(--text); }
th { text-align: left; font-weight: 400; color: var(--soft); padding-right: 1.5rem; }
td { text-align: right; }
code { font-size: .8125rem; display: block; }
code span { display: inline-block; max-width: 100%; }
.news { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 23rem), 1fr)); gap: .3rem 1.5rem; }
.news li { display: block; }
.text { white-space: pre-line; font-size: .875rem; color: var(--soft); }
ul { list-style: none; margin: 0; padding: 0; font-size: .925rem; }
li { display: flex; gap: .6rem; padding: .2rem 0; }
li .badge { align-self: flex-start; flex: none; }
footer { margin-top: 1.5rem; color: var(--soft); font-size: .875rem; }
a { color: inherit; }
`;
