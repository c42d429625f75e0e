import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { ConnectorError } from '../errors.ts';

/** A refusal with its HTTP status. The message goes to the client, in Kafka Connect's words where it has the same one. */
export class RestError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'RestError';
    this.status = status;
  }
}

/** Every error in the form of Kafka Connect's: `{"error_code":404,"message":"…"}`. */
export function sendError(error: FastifyError | Error, _request: FastifyRequest, reply: FastifyReply): void {
  const status = statusOf(error);
  // An unexpected error may quote anything.
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
