import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generatedFiles } from '../../../../src/records/avro/generate-types.ts';

test('the generated types are those of the schemas', () => {
  const files = generatedFiles();
  assert.ok(files.length > 0);
  for (const { path, content } of files) {
    assert.equal(readFileSync(path, 'utf8'), content, `${path} is stale: run node src/records/avro/generate-types.ts`);
  }
});
