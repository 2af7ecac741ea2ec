import type { JsonObject } from '../../../base/json-value.ts'
import { countOf } from '../../../base/text/plural.ts'
import type { CatalogFile, CatalogSkill } from '../../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { filesOf } from '../../../sync/catalog/skill-files.ts'
import { pathIdOf } from '../../../sync/catalog/tool-catalog.ts'
import type { Signers } from '../../../sync/model/signers.ts'
import type { KeptVersion } from '../../../sync/model/skill.ts'
import { originOfSkill } from '../../../sync/model/snapshot.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { pathBelow } from '../../../sync/model/uris/skill-uri.ts'
import { deprecationText, lifecycleOf } from '../../../sync/skill/lifecycle.ts'
import { mimeTypeOf } from '../../mime.ts'
import { decisionItem } from '../changes-view.ts'
import type { Readable, FileRenderer } from '../file-renderer.ts'
import { CHANGES, commitWords, contentMoment, minute, refText, shortCommit, sizeText } from '../format.ts'
import type { CommitWords } from '../format.ts'
import { html, EMPTY_HTML, isolateText, visible } from '../html.ts'
import type { Html } from '../html.ts'
import type { PageBody } from '../layout.ts'
import type { ContentMoment } from '../page-data.ts'
import { momentLookup } from '../page-view.ts'
import type { PageView } from '../page-view.ts'
import { copyLink, placesIn } from '../skill-copies.ts'
import { snippet } from '../snippet.ts'
import { tagList } from '../tags.ts'
import { fileAddress, skillAddress, sourceAddress } from '../urls.ts'
import { skillPages } from './git-host.ts'
import { skillUse } from './skill-use.ts'

/** Renders one skill: its SKILL.md and its known origin. */
export async function skillView(entry: CatalogSkill, view: PageView, readables: FileRenderer): Promise<PageBody> {
  const { name, description, source } = entry
  const [document] = filesOf(entry)
  const readable = document === undefined ? undefined : await readables.show(entry, document, false)
  // In a variable, so that the formatter breaks no line inside the article.
  const content = readable === undefined ? EMPTY_HTML : readableHtml(readable, document)
  const use = await skillUse(entry, view)
  const moment = (await momentLookup(view))(entry)
  const { up } = view
  const notes = entry.skill.findings.length + view.host.scanFindings(entry).length
  return {
    title: name,
    place: 'skills',
    content: html`<div id="skill" data-live>
      <p class="crumbs"><a href="${up}">Skills</a> / <a href="${up}?source=${source}">${source}</a></p>
      <h1>${isolateText(name)}</h1>
      ${descriptionOf(description)} ${deprecationNote(entry)} ${toolsOf(entry)}
      <div class="facts">
        ${moment === undefined ? EMPTY_HTML : html`<span>${contentMoment(moment, view.host.now())}</span>`}
        <span>${countOf(entry.skill.files.length, 'file')}, ${sizeText(entry.skill.size)}</span>
        ${notes === 0 ? EMPTY_HTML : html`<span class="warn">${countOf(notes, 'note')}</span>`}
        ${await recentUse(entry, view)}
        <a href="#about">Commit, digests and files</a>
      </div>
      ${tagList(entry, view)} ${use}
      <div class="sides">
        <article aria-label="SKILL.md">${content}</article>
        <aside id="about" aria-label="About this skill">${about(entry, moment, view)}</aside>
      </div>
    </div>`,
  }
}

/** A long one is cut until it is clicked. */
function descriptionOf(description: string): Html {
  if (description.length <= SHORT_DESCRIPTION) return html`<p class="lead">${isolateText(description)}</p>`
  return html`<details id="description" class="clamped">
    <summary class="lead"><span class="clamp">${isolateText(description)}</span></summary>
  </details>`
}

const SHORT_DESCRIPTION = 150

/** The tools that an agent may use with the skill without a question. */
function toolsOf({ frontmatter }: CatalogSkill): Html {
  const tools = frontmatter['allowed-tools']
  return tools === undefined ? EMPTY_HTML : html`<p><strong>allowed-tools</strong> ${isolateText(fieldText(tools))}</p>`
}

/** A reader of some packs must not learn how clients outside of them use a skill, nor a reader that was not admitted. */
async function recentUse(entry: CatalogSkill, { host, isAdmitted, up }: PageView): Promise<Html> {
  if (!isAdmitted || host.uses === undefined) return EMPTY_HTML
  const { loads, reads } = (await host.uses()).skills.get(pathIdOf(entry)) ?? { loads: 0, reads: 0 }
  const text = `Last 30 days: ${countOf(loads, 'load')}, ${countOf(reads, 'read')}`
  return html`<a href="${up}usage">${text}</a>`
}

/** The words of the author or the operator, as a note: they are no finding of skillsyncd. */
function deprecationNote({ skill }: CatalogSkill): Html {
  const text = deprecationText(lifecycleOf(skill))
  return text === undefined ? EMPTY_HTML : html`<p class="note">${isolateText(text)}</p>`
}

/** The owner and the dependencies that the author declares, or the operator. */
function lifecycleTerms({ skill }: CatalogSkill): Html {
  const { owner, dependsOn, replacedBy } = lifecycleOf(skill)
  const terms = [
    ['Owner', owner],
    ['Depends on', dependsOn?.join(', ')],
    ['Replaced by', replacedBy],
  ] as const
  return html`${terms.map(([term, text]) =>
    text === undefined
      ? EMPTY_HTML
      : html`<dt>${term}</dt>
          <dd>${isolateText(text)}</dd>`,
  )}`
}

/** Renders one file of a skill; with `?as=text`, as plain text. */
export async function fileView(
  file: CatalogFile,
  entry: CatalogSkill,
  view: PageView,
  readables: FileRenderer,
): Promise<PageBody> {
  const isDocument = file.uri === entry.uri
  const asText = isDocument || view.params.get('as') === 'text'
  const readable = await readables.show(entry, file, asText)
  const path = pathBelow(entry.root, file.uri)
  const { up } = view
  return {
    title: `${path} · ${entry.name}`,
    place: 'skills',
    content: html`<div id="file" data-live>
      <p class="crumbs">
        <a href="${up}">Skills</a> / <a href="${up}${skillAddress(entry)}">${isolateText(entry.name)}</a>
      </p>
      <h1>${isolateText(path)}</h1>
      <div class="facts">
        <span>${sizeText(file.file.size)}</span>
        ${file.file.executable ? html`<span>executable</span>` : EMPTY_HTML}
        ${readable.kind === 'document' ? html`<a href="${up}${fileAddress(file)}?as=text">As text</a>` : EMPTY_HTML}
        ${asText && !isDocument && mimeTypeOf(file.name) === 'text/markdown' ? html`<a href="${up}${fileAddress(file)}">Rendered</a>` : EMPTY_HTML}
      </div>
      <p class="digest">SHA-256 ${file.file.sha256}</p>
      <article aria-label="${path}">${readableHtml(readable, file)}</article>
    </div>`,
  }
}

function readableHtml(readable: Readable, file: CatalogFile | undefined): Html {
  switch (readable.kind) {
    case 'document':
      return html`<div class="prose">${readable.content}</div>`
    case 'text':
      return html`${readable.isWhole ? EMPTY_HTML : html`<p class="note">Only its beginning is shown here.</p>`}
        <pre class="source" tabindex="0"><code>${readable.content}</code></pre>`
    case 'binary':
      return html`<p class="quiet">This file is not text. Clients get its bytes.</p>`
    case 'too-large':
      return html`<p class="quiet">
        It has ${sizeText(file?.file.size ?? 0)}, too much to be shown here. Clients are given all of it.
      </p>`
    case 'damaged':
      return html`<p class="note bad">
        What is stored is gone, or is not what was listed, so no client is given it. It is fetched again.
      </p>`
    case 'refused':
      return html`<p class="note bad">No client is given it. ${isolateText(readable.why)}</p>`
    case 'not-now':
      return html`<p class="note bad">It cannot be read at this moment. Load the page again.</p>`
    default:
      return readable satisfies never
  }
}

function about(entry: CatalogSkill, moment: ContentMoment | undefined, view: PageView): Html {
  const { skill, signers } = entry
  const snapshot = snapshotOf(view.catalog, entry)
  // A reader of some packs must not learn the address of a repository.
  const origin = snapshot && originOfSkill(snapshot, skill)
  const pages = snapshot === undefined || !view.isWhole ? {} : skillPages({ ...snapshot, ...origin }, skill.path)
  return html`${notesOf(entry, view)}
    <h2>Where it is from</h2>
    <dl class="terms">
      <dt>Source</dt>
      <dd>
        ${view.isWhole ? html`<a href="${view.up}${sourceAddress(entry.source)}">${entry.source}</a>` : entry.source}
      </dd>
      <dt>Folder</dt>
      <dd>${linked(isolateText(skill.path === '' ? 'the root' : skill.path), pages.folder)}</dd>
      ${snapshot === undefined ? EMPTY_HTML : commitTerms(snapshot, skill.kept === undefined ? pages.commit : undefined, view)}
      ${skill.kept === undefined ? EMPTY_HTML : keptTerms(skill.kept, pages.commit)}
      <dt>Signed</dt>
      <dd>${signerText(signers)}</dd>
      ${lifecycleTerms(entry)}
    </dl>
    ${placesOf(entry, view)} ${historyOf(entry, moment, view)} ${declared(entry)}
    <h2 id="files">${countOf(skill.files.length, 'file')}, ${sizeText(skill.size)}</h2>
    <ul class="files">
      ${filesOf(entry)
        .slice(0, MOST_FILES)
        .map((file) => fileItem(file, entry, view.up))}
    </ul>
    ${digestsOf(entry)}`
}

/** Few readers compare digests, so they take no room until they are opened. */
function digestsOf(entry: CatalogSkill): Html {
  const files = filesOf(entry).slice(0, MOST_FILES)
  return html`<details id="digests">
    <summary>Digests (SHA-256)</summary>
    ${snippet('Digest of the skill', entry.digest, 'the digest of the skill', true)}
    <ul class="files">
      ${files.map(
        (file) =>
          html`<li>
            ${isolateText(pathBelow(entry.root, file.uri))} <span class="digest">${file.file.sha256}</span>
          </li>`,
      )}
    </ul>
  </details>`
}

/** Renders the upstream's name of a skill, and the rest of its frontmatter. */
function declared({ skill: { upstream }, frontmatter }: CatalogSkill): Html {
  const fields = fieldsOf(frontmatter)
  if (upstream === undefined && fields.length === 0) return EMPTY_HTML
  return html`<h2>What it says of itself</h2>
    <dl class="terms">
      ${
        upstream === undefined
          ? EMPTY_HTML
          : html`<dt>URI there</dt>
              <dd class="mono">${isolateText(upstream.uri)}</dd>`
      }
      ${fields}
    </dl>`
}

/** Links to the other places with equal name and content. */
function placesOf(entry: CatalogSkill, { catalog, up }: PageView): Html {
  const others = placesIn(catalog)
    .of(entry)
    .filter((place) => place !== entry)
  if (others.length === 0) return EMPTY_HTML
  const left = others.length - MOST_PLACES
  return html`<h2 id="places">Also in ${countOf(others.length, 'other place')}</h2>
    <p class="quiet small">The same name and the same content, byte for byte.</p>
    <ul class="files">
      ${others.slice(0, MOST_PLACES).map((place) => html`<li>${copyLink(place, up)}</li>`)}
      ${left > 0 ? html`<li class="quiet">${left} more</li>` : EMPTY_HTML}
    </ul>`
}

const MOST_PLACES = 100

/** A skill has no more files of its own; files of nested skills count too. */
const MOST_FILES = 1_000

function snapshotOf({ snapshots }: Catalog, { source }: CatalogSkill): Snapshot | undefined {
  return snapshots.find((snapshot) => snapshot.source === source)
}

/** `page`: the page of the commit at its git host. */
function commitTerms(snapshot: Snapshot, page: string | undefined, view: PageView): Html {
  const { ref, commit, tag } = snapshot.revision
  // A reader of some packs gets none.
  const words = view.isWhole ? commitWords(snapshot) : undefined
  return html`<dt>Commit of the source</dt>
    <dd class="digest">${linked(html`${commit}`, page)}</dd>
    ${words === undefined ? EMPTY_HTML : html`<dd>${wordsHtml(words)}</dd>`}
    <dt>Ref</dt>
    <dd>${isolateText(refText(ref))}${tag === undefined ? EMPTY_HTML : html` <span class="digest">${tag}</span>`}</dd>`
}

/** `page`: the page of the earlier commit at its git host. */
function keptTerms({ commit, since }: KeptVersion, page: string | undefined): Html {
  return html`<dt>Kept from commit</dt>
    <dd class="digest">${linked(html`${commit}`, page)}</dd>
    <dt>Broken since commit</dt>
    <dd class="digest">${since}</dd>`
}

/** Links to another site, which does not learn the address of this page. */
function linked(text: Html, to: string | undefined): Html {
  return to === undefined ? text : html`<a href="${to}" rel="noopener noreferrer nofollow">${text}</a>`
}

function wordsHtml({ subject, author, at }: CommitWords): Html {
  const when = at === undefined ? EMPTY_HTML : html`, ${minute(at)}`
  return html`${isolateText(subject)} <span class="quiet">${isolateText(author)}${when}</span>`
}

/** The changes of the skill on this hub, and the decisions about it. Only readers of everything see generations. */
function historyOf(entry: CatalogSkill, moment: ContentMoment | undefined, view: PageView): Html {
  const { host, isWhole, up } = view
  const decisions = host.decisions(entry)
  if (moment === undefined && decisions.length === 0) return EMPTY_HTML
  const moments = moment === undefined ? [] : [moment, ...(moment.earlier ?? [])]
  return html`<h2 id="history">History on this hub</h2>
    <ol class="files">
      ${moments.map((one) => momentItem(one, isWhole, up))} ${decisions.map((one) => decisionItem(one, view))}
    </ol>`
}

function momentItem({ at, change, generation, before, commit }: ContentMoment, isWhole: boolean, up: string): Html {
  const compared = `${up}changes?from=${before}&to=${generation}`
  const where =
    before === undefined ? html`generation ${generation}` : html`<a href="${compared}">generation ${generation}</a>`
  return html`<li>
    ${CHANGES[change]} ${minute(at)}${isWhole ? html`, ${where}` : EMPTY_HTML}
    ${commit === undefined ? EMPTY_HTML : html`${shortCommit(commit.id)} ${commit.words && wordsHtml(commit.words)}`}
  </li>`
}

function signerText(signers: Signers | undefined): Html {
  const named = [signers?.commit, signers?.tag].filter((signer) => signer !== undefined)
  if (named.length === 0) return html`<span class="quiet">not asked for</span>`
  return html`${named.map(({ principal, scheme, fingerprint }) => html`${isolateText(principal)} <span class="digest">${scheme} ${isolateText(fingerprint)}</span> `)}`
}

function notesOf(entry: CatalogSkill, { host }: PageView): Html {
  const notes = entry.skill.findings.map(
    ({ rule, message, path }) =>
      html`<p>
        <strong>${rule}</strong> ${visible(host.clean(message))} <span class="quiet">${isolateText(path)}</span>
      </p>`,
  )
  const scanned = host
    .scanFindings(entry)
    .map((finding) => html`<p><strong>scan</strong> ${visible(host.clean(finding))}</p>`)
  if (notes.length + scanned.length === 0) return EMPTY_HTML
  return html`<div class="note" role="note" aria-label="Notes">${notes} ${scanned}</div>`
}

/**
 * Renders the frontmatter except the fields that stand above. Some fields are instructions to the client that loads the skill.
 */
function fieldsOf(frontmatter: JsonObject): Html[] {
  const entries = Object.entries(frontmatter).filter(([key]) => !ABOVE.has(key))
  return entries.slice(0, MOST_FIELDS).map(([key, value]) => {
    return html`<dt>${visible(key)}</dt>
      <dd>${isolateText(fieldText(value))}</dd>`
  })
}

function fieldText(value: JsonObject[string]): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS).toWellFormed()}…` : text
}

/** The fields that stand above. */
const ABOVE: ReadonlySet<string> = new Set(['name', 'description', 'allowed-tools'])

const MOST_FIELDS = 30
const MOST_CHARACTERS = 500

function fileItem(file: CatalogFile, { root }: CatalogSkill, up: string): Html {
  const { size, executable } = file.file
  return html`<li>
    <a href="${up}${fileAddress(file)}">${isolateText(pathBelow(root, file.uri))}</a>
    <span class="quiet small">${sizeText(size)}${executable ? ', executable' : ''}</span>
  </li>`
}
