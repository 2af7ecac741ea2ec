import { READ_METHODS } from '../server/listener.ts'
import type { Routes } from '../server/listener.ts'
import { sendPieces } from '../server/response.ts'

/** Figures as text: in the form that every Prometheus reads, or in the one that was made of it. */
export type Metrics = (form: MetricsForm) => Promise<string>

export type MetricsForm = 'prometheus' | 'openmetrics'

/** The figures of the process. Whoever may not know what there is needs a token for them. */
export function metricsRoutes(metrics: Metrics): Routes {
  return {
    '/metrics': {
      methods: READ_METHODS,
      scope: 'metrics',
      audit: 'refusals',
      async answer(request, response) {
        const form = formFor(request.headers.accept ?? '')
        const body = Buffer.from(await metrics(form))
        const headers = { 'content-type': CONTENT_TYPES[form], 'cache-control': 'no-store', vary: 'accept' }
        sendPieces(response, 200, headers, [body])
      },
    },
  }
}

const CONTENT_TYPES: Readonly<Record<MetricsForm, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

/** The older form, unless the other one is asked for and liked no less. */
function formFor(accept: string): MetricsForm {
  const weights = new Map<string, number>()
  for (const range of accept.slice(0, MOST_CHARACTERS).toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1)
    weights.set(type, Math.max(weights.get(type) ?? 0, Number.isNaN(weight) ? 0 : weight))
  }
  const asked = weights.get('application/openmetrics-text') ?? 0
  return asked > 0 && asked >= (weights.get('text/plain') ?? 0) ? 'openmetrics' : 'prometheus'
}

const MOST_CHARACTERS = 2_048
