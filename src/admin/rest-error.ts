import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { ConnectorError } from '../errors.ts';

/** Refuses a request with an HTTP status. The client sees the message, if possible in the words of Kafka Connect. */
export class RestError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'RestError';
    this.status = status;
  }
}

/** Sends any error in Kafka Connect's form: `{"error_code":404,"message":"…"}`. */
export function sendError(error: FastifyError | Error, _request: FastifyRequest, reply: FastifyReply): void {
  const status = statusOf(error);
  // The message of an unexpected error may quote secrets.
  const message = status === 500 && !(error instanceof ConnectorError) ? 'Internal Server Error' : textOf(error);
  reply.code(status).send({ error_code: status, message });
}

export function sendNotFound(_request: FastifyRequest, reply: FastifyReply): void {
  reply.code(404).send({ error_code: 404, message: 'HTTP 404 Not Found' });
}

function statusOf(error: FastifyError | Error): number {
  if (error instanceof RestError) return error.status;
  return 'statusCode' in error && error.statusCode !== undefined ? error.statusCode : 500;
}

function textOf(error: Error): string {
  return error instanceof ConnectorError ? `${error.code}: ${error.message}` : error.message;
}
