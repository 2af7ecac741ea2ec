import { joinPath } from '../../base/paths.ts'
import { fewText } from '../../base/text/first-few.ts'
import { countOf } from '../../base/text/plural.ts'
import type { PluginSkill } from '../../sync/model/changes/plugin-changes.ts'
import { nameText } from '../../sync/model/changes/skill-changes.ts'
import { docsSection, sourceSection } from './changes-view.ts'
import { minute, refText } from './format.ts'
import { html, EMPTY_HTML, isolateText, visible } from './html.ts'
import type { Html } from './html.ts'
import type { PageBody } from './layout.ts'
import type { PendingChange, PendingContent, PendingRevision, SourceHealth } from './page-data.ts'
import { messageOf } from './page-view.ts'
import type { PageView } from './page-view.ts'
import { snippet } from './snippet.ts'

/** Renders the revision of a source that waits for approval, with its changes and the commands that decide. */
export async function pendingView(view: PageView, id: string): Promise<PageBody> {
  const { host, up, isAdmitted } = view
  const health = host.sources().find((source) => source.id === id)
  const pending = isAdmitted ? await host.pending(id) : undefined
  const waiting = isAdmitted ? pending : health?.pending
  const crumbs = html`<p class="crumbs"><a href="${up}sources">Sources</a></p>`
  if (health === undefined || waiting === undefined) {
    const content = html`${crumbs}
      <h1>No revision waits</h1>
      <p class="lead">No revision of this source waits for approval. It may have been approved or rejected.</p>`
    return { status: 404, title: 'No revision waits', place: 'sources', content }
  }
  const title = `${id}: waits for approval`
  return {
    title,
    place: 'sources',
    content: html`${crumbs}
      <h1>${title}</h1>
      ${problemNote(health, view)}
      ${pending === undefined ? hiddenContent(id, waiting.id) : pendingContent(pending, health)}`,
  }
}

function problemNote({ problem }: SourceHealth, view: PageView): Html {
  if (problem === undefined) return EMPTY_HTML
  return html`<p class="note"><strong>${problem.code}</strong> ${messageOf(problem.message, view)}</p>`
}

/** The page is public, but the operator has not published this revision. */
function hiddenContent(source: string, id: string): Html {
  return html`<p>This page is public, so it does not show a revision that is not approved.</p>
    ${snippet('Shell', `skillsyncd approve ${source}`, 'the command that shows the changes')}
    <p class="quiet small">The revision is <code>${id}</code>.</p>`
}

function pendingContent({ source, id, ref, content }: PendingRevision, { lock }: SourceHealth): Html {
  return html`<dl class="terms row">
      <dt>Ref</dt>
      <dd>${isolateText(refText(ref))}</dd>
      <dt>Revision</dt>
      <dd class="mono">${id}</dd>
      ${content === 'fetching' || 'error' in content ? EMPTY_HTML : commitTerms(content.words)}
    </dl>
    <h2>Changes from what is served</h2>
    <div id="pending" data-live>${changesIn(content)}</div>
    <h2>Decide</h2>
    ${lock?.isFollowed === true ? lockCommand(source) : decisionCommands(source, id)}`
}

function decisionCommands(source: string, id: string): Html {
  return html`<p>
      Approve or reject it on the hub. Each command names exactly this revision: if another one waits by then, nothing
      is changed.
    </p>
    ${snippet('Shell', `skillsyncd approve ${source} ${id}`, 'the command that approves the revision')}
    ${snippet('Shell', `skillsyncd reject ${source} ${id}`, 'the command that rejects the revision')}`
}

/** An approval does not move a lock. */
function lockCommand(source: string): Html {
  return html`<p>
      The hub follows a lock for this source. This command moves the lock to the revision that upstream has by then.
    </p>
    ${snippet('Shell', `skillsyncd update ${source}`, 'the command that moves the lock')}`
}

function commitTerms(words: PendingContent['words']): Html {
  if (words === undefined) return EMPTY_HTML
  return html`<dt>Commit</dt>
    <dd>${isolateText(words.subject)}, by ${isolateText(words.author)} ${minute(words.at)}</dd>`
}

function changesIn(content: PendingRevision['content']): Html {
  if (content === 'fetching')
    return html`<p class="note">The hub fetches the revision. Reload this page in a moment.</p>`
  if ('error' in content)
    return html`<p class="note bad">The changes cannot be shown. ${visible(content.error)}</p>
      <p class="quiet">The hub tries again after a minute.</p>`
  const { change, isWithoutText } = content
  return html`${isWithoutText ? withoutText(change.source) : EMPTY_HTML} ${programsIn(change)}
  ${sourceSection(change, noLink)} ${othersIn(change)}`
}

/** Names what an agent may run after the approval, and not now. */
function programsIn({ skills }: PendingChange): Html {
  const programs = skills.flatMap(({ path, files }) =>
    files.flatMap((file) =>
      file.isProgram && file.change !== 'removed' ? [`${joinPath(path, file.path)} (${file.change})`] : [],
    ),
  )
  if (programs.length === 0) return EMPTY_HTML
  return html`<p class="note bad">
    <strong>${countOf(programs.length, 'program')}</strong> ${isolateText(fewText(programs, 10))}
  </p>`
}

function withoutText(source: string): Html {
  return html`<div class="note">
    <p>
      A lock or signatures decide what is served of this source, or it is an MCP server. Therefore the page shows no
      text that is not served.
    </p>
    <p><code>skillsyncd diff served upstream --only ${source}</code> on the hub shows the changed lines.</p>
  </div>`
}

/** A link would lead to the served version. */
function noLink(): undefined {
  return undefined
}

function othersIn({ unnamed, docs, plugins }: PendingChange): Html {
  return html`${docs === undefined ? EMPTY_HTML : docsSection(docs)}
  ${plugins.length === 0 ? EMPTY_HTML : pluginList(plugins)}
  ${unnamed === 0 ? EMPTY_HTML : html`<p class="quiet">${countOf(unnamed, 'further changed skill')} ${unnamed === 1 ? 'is' : 'are'} in no list. skillsyncd diff names them.</p>`}`
}

/** The packs with `plugin` have the skills of plugins. */
function pluginList(plugins: PendingChange['plugins']): Html {
  const left = plugins.length - MOST_PLUGINS
  return html`<h3>Plugins of the marketplace</h3>
    <ul class="files">
      ${plugins
        .slice(0, MOST_PLUGINS)
        .map(
          ({ plugin, change, gains, loses }) =>
            html`<li>${isolateText(plugin)}: ${change}${namesIn('gains', gains)}${namesIn('loses', loses)}</li>`,
        )}
    </ul>
    ${left > 0 ? html`<p class="quiet">and ${left} more. skillsyncd diff names them.</p>` : EMPTY_HTML}`
}

function namesIn(verb: string, skills: readonly PluginSkill[]): Html {
  return skills.length === 0 ? EMPTY_HTML : html`; ${verb} ${isolateText(fewText(skills, 10, nameText))}`
}

const MOST_PLUGINS = 50
