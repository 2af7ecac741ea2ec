/** The complete style of the page. No build step creates it, and it loads nothing from elsewhere. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #fcfbf9; --raised: #ffffff; --sunk: #f3f1ec; --line: #e0dcd3; --ink: #1d1c1a; --soft: #5e5a52;
  --accent: #0b5c66; --accent-soft: #e0eff0; --good: #1f6b3a; --warn: #8a4b08; --warn-soft: #fbf0de; --bad: #a3261f;
  --plus: #e3f3e6; --minus: #fbe6e3; --mark: #fff0b8;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15171a; --raised: #1b1e22; --sunk: #202429; --line: #31363d; --ink: #e8e6e1; --soft: #a5a29a;
    --accent: #7fd0d8; --accent-soft: #173438; --good: #86d19c; --warn: #f0b76b; --warn-soft: #37290f; --bad: #ff9d94;
    --plus: #16301d; --minus: #3b1d1b; --mark: #5a4a10;
  }
}
*, ::before, ::after { box-sizing: border-box }
html { font: 100%/1.6 var(--sans); color: var(--ink); background: var(--paper); -webkit-text-size-adjust: 100%; scroll-padding-top: 1rem }
body { margin: 0; min-height: 100vh; display: flex; flex-direction: column }
.bar, main, footer { width: 100%; max-width: 74rem; margin: 0 auto; padding: 0 1.25rem }
main { flex: 1; padding-bottom: 4rem; overflow-wrap: break-word }
main:focus { outline: none }
a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: .18em }
a:hover { text-decoration-thickness: 2px }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 3px }
h1, h2, h3, h4, h5, h6 { line-height: 1.25; margin: 2em 0 .6em; font-weight: 650; letter-spacing: -.012em; overflow-wrap: anywhere; text-wrap: balance }
h1 { font-size: clamp(1.7rem, 1.3rem + 1.6vw, 2.4rem); margin: .2em 0 .4em; letter-spacing: -.022em }
h2 { font-size: 1.3rem } h3 { font-size: 1.08rem } h4, h5, h6 { font-size: 1rem }
p, ul, ol, pre, table, dl, blockquote { margin: 0 0 1rem }
code, pre, kbd, .mono { font-family: var(--mono); font-size: .875em }
pre { background: var(--sunk); border: 1px solid var(--line); border-radius: 8px; padding: .85rem 1rem; overflow-x: auto; line-height: 1.5; tab-size: 4 }
pre code { font-size: inherit; background: none; padding: 0; border: 0 }
:not(pre) > code { background: var(--sunk); border-radius: 4px; padding: .1em .3em; overflow-wrap: anywhere }
hr { border: 0; border-top: 1px solid var(--line); margin: 2rem 0 }
blockquote { border-left: 3px solid var(--line); padding-left: 1rem; color: var(--soft); margin-left: 0 }
bdi { overflow-wrap: anywhere }
time { white-space: nowrap }
.skip { position: absolute; left: -999rem }
.skip:focus { left: 1rem; top: .5rem; background: var(--raised); padding: .4rem .8rem; z-index: 2 }
.quiet { color: var(--soft); font-weight: 400 } .small { font-size: .875rem; letter-spacing: 0 } .good { color: var(--good) } .warn { color: var(--warn) } .bad { color: var(--bad) }
.heard { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }

.bar { display: flex; flex-wrap: wrap; align-items: center; gap: .35rem 1.5rem; padding-top: .8rem; padding-bottom: .6rem }
.bar h1 { font-size: 1rem; margin: 0 }
.bar .name { font-weight: 650; letter-spacing: -.01em; color: var(--ink); text-decoration: none; overflow-wrap: anywhere }
.bar form { display: flex; flex: 1 1 15rem; gap: .4rem; margin: 0 }
.bar input { flex: 1; padding: .35rem .7rem } .bar button { padding: .3rem .8rem }
.bar ul { display: flex; flex-wrap: wrap; gap: 0 1.1rem; list-style: none; padding: 0; margin: 0; font-size: .95rem }
.bar ul a { display: block; padding: .3rem 0; color: var(--soft); text-decoration: none; border-bottom: 2px solid transparent }
.bar ul a:hover { color: var(--ink) }
.bar ul a[aria-current] { color: var(--ink); border-color: var(--accent) }
.bar .count { background: var(--sunk); border-radius: 99px; padding: 0 .45em; font-size: .8rem }
.bar .count:empty { display: none }
.banner { width: 100%; max-width: 74rem; margin: 0 auto; padding: 0 1.25rem .5rem; font-size: .84rem; overflow-wrap: anywhere }
.banner:empty { display: none }
.banner .note { padding: .15rem .7rem; margin: 0 }
header { border-bottom: 1px solid var(--line); margin-bottom: 1.2rem }
footer { width: min(71.5rem, 100% - 2.5rem); padding-inline: 0; border-top: 1px solid var(--line); padding-top: 1rem; padding-bottom: 1.5rem; color: var(--soft); font-size: .875rem; display: flex; flex-wrap: wrap; gap: .4rem 1.5rem; justify-content: space-between; align-items: center }
footer form { margin: 0 }

button, input, select { font: inherit; color: inherit }
input, select { background: var(--raised); border: 1px solid var(--soft); border-radius: 8px; padding: .55rem .8rem; min-width: 0; max-width: 100% }
button { background: var(--raised); border: 1px solid var(--soft); border-radius: 8px; padding: .5rem .95rem; cursor: pointer }
button:hover { border-color: var(--accent); color: var(--accent) }
button.main, a.main { background: var(--accent); border-color: var(--accent); color: var(--paper); font-weight: 600 }
a.main { display: inline-block; border-radius: 8px; padding: .5rem .95rem; text-decoration: none }
footer button, button.copy { flex: none; padding: .15rem .6rem; font-size: .8125rem; border-color: var(--line); border-radius: 6px }
.filters { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem; margin-bottom: .5rem }
.filters label { font-size: .875rem; color: var(--soft) }
.filters select, .filters input, .filters button { flex: 0 1 auto; padding: .25rem .5rem; font-size: .875rem; max-width: 14rem }

.list { list-style: none; padding: 0; margin: 0; border-top: 1px solid var(--line) }
.list > li { border-bottom: 1px solid var(--line); padding: .95rem 0 1rem }
.list h2, .list h3 { margin: 0; font-size: 1.05rem }
.list h2 a, .list h3 a { text-decoration: none }
.list h2 a:hover, .list h3 a:hover, #problems h3 a { text-decoration: underline }
.list p { margin: .25rem 0 .4rem; max-width: 62rem }
.clamp { display: -webkit-box; -webkit-line-clamp: 3; -webkit-box-orient: vertical; overflow: hidden }
.list .clamp { -webkit-line-clamp: 2 }
.facts { display: flex; flex-wrap: wrap; gap: .1rem 1rem; font-size: .84rem; color: var(--soft) }
.tags { display: flex; flex-wrap: wrap; gap: .4rem .5rem; list-style: none; padding: 0; margin: .6rem 0 0; font-size: .84rem; color: var(--soft) }
.tags li { overflow-wrap: anywhere; min-width: 0; border: 1px solid var(--line); border-radius: 99px; padding: .1rem .7rem }
.pages { display: flex; justify-content: space-between; gap: 1rem; margin-top: 1.4rem }
.crumbs { font-size: .9rem; color: var(--soft); margin: 0 0 .6rem }
.lead { font-size: 1.1rem; line-height: 1.55; max-width: 46rem; color: var(--soft) }

.sides { display: grid; gap: 2.5rem; grid-template-columns: minmax(0, 1fr); border-top: 1px solid var(--line); margin-top: 1.4rem; padding-top: 1.8rem }
@media (min-width: 62rem) { .sides { grid-template-columns: minmax(0, 1fr) 21rem; gap: 3.5rem } }
.sides aside h2 { font-size: .95rem; margin: 1.8rem 0 .5rem }
.sides aside h2:first-child { margin-top: 0 }
.card { background: var(--raised); border: 1px solid var(--line); border-radius: 12px; padding: 1.1rem 1.25rem; margin: 0 0 1.2rem }
.card > :last-child { margin-bottom: 0 }
.card > h2:first-child, .card > h3:first-child { margin-top: 0 }
dl.terms { display: grid; grid-template-columns: minmax(0, 1fr); gap: .1rem 1rem; font-size: .9rem }
dl.terms dt { color: var(--soft); font-size: .8125rem; margin-top: .5rem }
dl.terms dd { margin: 0; overflow-wrap: anywhere }
@media (min-width: 40rem) { dl.row { grid-template-columns: 8.5rem minmax(0, 1fr) } dl.row dt { margin-top: .15rem } }
.digest { font-family: var(--mono); font-size: .78rem; overflow-wrap: anywhere; line-height: 1.45 }
.files { list-style: none; padding: 0; font-size: .9rem }
.list .files { margin: .5rem 0 .8rem }
.files li { padding: .3rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere }
.list .files li { padding: .05rem 0; border: 0 }
.files .digest { color: var(--soft); display: block }
.note { border-left: 4px solid var(--warn); background: var(--warn-soft); padding: .7rem 1rem; border-radius: 0 8px 8px 0; margin: 0 0 1rem }
.note, .list > li, .card p { overflow-wrap: anywhere }
.note p { margin: 0 } .note p + p { margin-top: .4rem }
.note.bad { border-color: var(--bad); background: var(--minus); color: inherit }
.tag { display: inline-block; font-weight: 500; letter-spacing: 0; font-size: .78rem; padding: .05rem .5rem; border-radius: 99px; border: 1px solid currentColor; vertical-align: .1em }
.table > section { border-top: 1px solid var(--line); padding: .5rem 0 }
.table summary { display: grid; gap: .1rem 1rem; font-size: .9rem; color: var(--soft) }
.table summary h2 { font-size: 1.05rem; margin: 0; color: var(--ink) }
.table summary h2::before { content: '▸ '; color: var(--soft) } .table [open] summary h2::before { content: '▾ ' }
.table dl { margin: .6rem 0 1rem; padding-left: 1rem } .table .note { margin: .3rem 0 }
@media (min-width: 62rem) { .table summary { grid-template-columns: minmax(0, 1.4fr) 11rem minmax(0, 1.4fr) minmax(0, 1.3fr) 8rem; align-items: baseline } }
.clamped { margin: 0 0 1rem } .clamped .lead { display: block; padding: 0 } .clamped[open] .clamp { display: inline }
.state { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem .8rem }
.state h2 { margin: 0 }
.state { margin-bottom: .7rem }

.prose { overflow-wrap: break-word; max-width: 46rem }
.prose > :first-child { margin-top: 0 }
.prose h2 { font-size: 1.5rem; margin-top: 1.6em } .prose h3 { font-size: 1.22rem } .prose h4 { font-size: 1.05rem }
.prose li { margin: .2rem 0 }
.wide { overflow-x: auto; margin: 0 0 1rem }
table { border-collapse: collapse; font-size: .92em }
.wide table { margin: 0 }
th, td { text-align: left; vertical-align: top; padding: .4rem .9rem .4rem 0; border-bottom: 1px solid var(--line) }
th { font-weight: 600 } th.center, td.center { text-align: center } th.right, td.right { text-align: right }
.unseen { background: var(--mark); border-radius: 3px; font: .75rem var(--mono); padding: 0 .25em; unicode-bidi: isolate }
.unrendered { background: var(--mark); border-radius: 3px; font: .75rem var(--mono); padding: 0 .25em; unicode-bidi: isolate; white-space: pre-wrap; overflow-wrap: anywhere }
.nowhere { text-decoration: underline dotted; text-decoration-color: var(--soft) }
.image { color: var(--soft); border: 1px dashed var(--soft); border-radius: 6px; padding: .1rem .5rem; font-size: .9em }
.source { white-space: pre-wrap; overflow-wrap: anywhere }

details { margin: 0 0 .6rem }
summary { cursor: pointer; padding: .2rem 0; overflow-wrap: anywhere }
.diff { background: var(--sunk); border: 1px solid var(--line); border-radius: 8px; overflow-x: auto; padding: .5rem 0; font-family: var(--mono); font-size: .82rem }
.diff > span { display: block; white-space: pre; padding: 0 1rem; min-width: max-content }
.diff ins, .diff del { text-decoration: none }
.diff .plus { background: var(--plus) } .diff .minus { background: var(--minus) } .diff .at { color: var(--soft) }
.ways { margin-top: 1.6rem }
.ways .card { break-inside: avoid }
@media (min-width: 62rem) { .ways { columns: 2; column-gap: 1.4rem } }
.use { margin: 1.4rem 0 0 }
.uses { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: .2rem 1.4rem }
.use .snippet { margin-bottom: .35rem } .uses p { margin-bottom: .8rem }
.snippet { margin: 0 0 1rem }
.snippet div { display: flex; align-items: end; justify-content: space-between; gap: 1rem; min-height: 1.9rem; margin-bottom: .35rem; font-size: .875rem; color: var(--soft); overflow-wrap: anywhere }
.snippet pre { margin: 0 }
.snippet.shell pre { white-space: pre-wrap; overflow-wrap: anywhere }
.sign-in { max-width: 26rem; margin: 12vh auto 0 }
.sign-in label { display: block; margin-bottom: .3rem }
.sign-in input { width: 100%; margin-bottom: .9rem }

@media (prefers-reduced-motion: no-preference) { .fresh { animation: fresh 1.6s ease-out } @keyframes fresh { from { background: var(--accent-soft) } } }
@media print { header nav, footer, .filters, .bar form, .copy { display: none } }
`
