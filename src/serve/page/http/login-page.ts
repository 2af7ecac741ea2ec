import type { SignInFailure, SignInFault } from '../../sign-in.ts'
import { html, EMPTY_HTML, isolateText } from '../html.ts'
import type { Html } from '../html.ts'
import { documentOf } from '../layout.ts'

/** The input of the login form. */
export interface Login {
  /** The relative path to the root. */
  readonly up: string
  /** The requested page, relative to the root. */
  readonly to: string
  /** True if a given token has no access. */
  readonly isRefused?: boolean
  /** The authorization server that people sign in with, if there is one. */
  readonly issuer?: string | undefined
}

/** Renders the login form. */
export function loginPage(name: string, { up, to, isRefused = false, issuer }: Login): string {
  return documentOf({
    title: name,
    attributes: ` data-root="${up}"`,
    body: html`<main id="main" class="sign-in">
      <h1>${isolateText(name)}</h1>
      ${isRefused ? html`<p class="note bad" role="alert">This token has no access to this page.</p>` : EMPTY_HTML}
      ${
        issuer === undefined
          ? EMPTY_HTML
          : html`<p>
                <a class="main" href="${startAddress(up, to)}">Sign in with ${isolateText(new URL(issuer).host)}</a>
              </p>
              <p class="quiet">Or with a token:</p>`
      }
      <form method="post" action="${up}login">
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          name="token"
          autocomplete="off"
          required
          ${issuer === undefined ? html`autofocus` : EMPTY_HTML}
        />
        <input type="hidden" name="to" value="${to}" />
        <button ${issuer === undefined ? html`class="main"` : EMPTY_HTML}>Sign in</button>
      </form>
      <p class="quiet small">
        The operator of the hub creates a token: <code>skillsyncd hub token add NAME --scope page</code>
      </p>
      <div id="heard" class="heard" role="status"></div>
    </main>`,
  })
}

/** The address at which a sign-in with the authorization server begins. `to`: the requested page. */
function startAddress(up: string, to: string): string {
  return `${up}login/start${to === '' ? '' : `?to=${encodeURIComponent(to)}`}`
}

/** Renders the end of a sign-in, which goes on to the requested page. */
export function signedInPage(name: string, { up, to }: Pick<Login, 'up' | 'to'>): string {
  return documentOf({
    title: name,
    attributes: ` data-root="${up}"`,
    head: html`<meta http-equiv="refresh" content="0; url=${up}${to}" />`,
    body: html`<main id="main" class="sign-in">
      <h1>${isolateText(name)}</h1>
      <p>You are signed in. <a href="${up}${to}">Continue</a></p>
    </main>`,
  })
}

/** Renders the reason why a sign-in failed, and what to try. */
export function signInFailedPage(
  name: string,
  { why, said, isRepeatable = false }: Pick<SignInFailure, 'why' | 'said' | 'isRepeatable'>,
  { up, to }: Pick<Login, 'up' | 'to'>,
): string {
  const { title, advice } = FAILURES[why]
  return documentOf({
    title: `${title} · ${name}`,
    attributes: ` data-root="${up}"`,
    body: html`<main id="main" class="sign-in">
      <h1>${title}</h1>
      ${said === undefined ? EMPTY_HTML : html`<p class="note bad">${isolateText(said)}</p>`}
      <p>${advice}</p>
      <p>
        ${
          // The empty address is that of this page, with the code.
          isRepeatable
            ? html`<a class="main" href="">Try again</a>`
            : html`<a class="main" href="${startAddress(up, to)}">Sign in again</a>`
        }
      </p>
      <p class="quiet small"><a href="${up}${to}">Sign in with a token</a></p>
    </main>`,
  })
}

interface FailureText {
  readonly title: string
  readonly advice: Html
}

const FAILURES: Readonly<Record<SignInFault, FailureText>> = {
  'not-expected': {
    title: 'This sign-in has expired',
    advice: html`Most often, the sign-in was begun at another address of this hub than its public one, where you are
    now: sign in again from here. Other causes are another browser, more than ten minutes, a page that was loaded again,
    and cookies that are not allowed for this site.`,
  },
  declined: {
    title: 'The authorization server did not sign you in',
    advice: html`If you did not decline, ask the operator of the hub to check your access there.`,
  },
  refused: {
    title: 'The authorization server does not accept this hub',
    advice: html`Trying again rarely helps. The log of the hub has the reason, as <code>sign-in-failed</code>.`,
  },
  unavailable: {
    title: 'The authorization server is not available',
    advice: html`Try again in ten seconds. If that does not help, the log of the hub has the reason.`,
  },
  busy: {
    title: 'The hub is busy',
    advice: html`Many people are signing in. Try again in a moment.`,
  },
  rejected: {
    title: 'The sign-in could not be verified',
    advice: html`Trying again rarely helps. The log of the hub has the reason, as <code>sign-in-failed</code>.`,
  },
  'no-access': {
    title: 'You have no access to this page',
    advice: html`You are signed in at the authorization server, but your token does not have the scopes that open this
    page. Ask the operator of the hub for access.`,
  },
}
