import { READ_METHODS } from './server/listener.ts'
import type { Routes } from './server/listener.ts'
import { sendPieces } from './server/response.ts'

/** Renders the metrics as text, in the Prometheus format that every version reads or in OpenMetrics. */
export type MetricsText = (form: MetricsForm) => Promise<string>

export type MetricsForm = 'prometheus' | 'openmetrics'

/** The metrics of the process. They need a token if the catalog does. */
export function metricsRoutes(metrics: MetricsText): Routes {
  return {
    '/metrics': {
      methods: READ_METHODS,
      scope: 'metrics',
      audit: 'refusals',
      async answer(request, response) {
        const form = formFor(request.headers.accept ?? '')
        const body = Buffer.from(await metrics(form))
        const headers = { 'content-type': CONTENT_TYPES[form], 'cache-control': 'no-store', vary: 'accept' }
        sendPieces(response, { status: 200, headers, pieces: [body] })
      },
    },
  }
}

const CONTENT_TYPES: Readonly<Record<MetricsForm, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

/** Selects the older Prometheus format, unless the client accepts OpenMetrics with at least the same weight. */
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
