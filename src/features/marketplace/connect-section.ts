import { wayCard } from '../../serve/page/connect-view.ts'
import { EMPTY_HTML, html } from '../../serve/page/html.ts'
import type { FeatureSection } from '../../serve/page/page-view.ts'
import { snippet } from '../../serve/page/snippet.ts'
import { ENROLLED_AGENTS, tokenStep } from './enrollment/enrollment.ts'
import type { MarketplaceConfig } from './marketplace-config.ts'

/**
 * The commands for agents that follow a marketplace by their settings; the others take another way. A reader of some
 * packs knows their names.
 */
export function connectSection({ name, plugin }: MarketplaceConfig): FeatureSection {
  return ({ address, host: { isTokenRequired }, isWhole, packs }) => {
    const [first] = isWhole ? [...packs.map(({ id }) => id), plugin] : []
    const given = { url: `${address}/marketplace.git`, name, plugins: [first ?? 'PACK'], isTokenRequired }
    const token = tokenStep(given)
    const agents = ENROLLED_AGENTS.filter(({ settings, organization }) => settings ?? organization)
    const content = html`<h2>Plugin marketplace</h2>
      <p>Without skillsyncd, these agents install the skills from a git address. Each pack is a plugin.</p>
      ${snippet('Address', given.url, 'the address of the marketplace')}
      ${token === undefined ? EMPTY_HTML : snippet(token.where, token.text, 'the token for git')}
      <div class="ways">
        ${agents.map(({ title, person }) => wayCard({ client: title, steps: person(given) }, 'marketplace'))}
      </div>`
    return { content, clients: agents.map(({ title }) => title) }
  }
}
