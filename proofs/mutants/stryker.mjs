/** Print Stryker's mutants of the files in the arguments as JSON. The working folder has the instrumenter. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const found = createRequire(join(process.cwd(), "package.json")).resolve("@stryker-mutator/instrumenter");
const { Instrumenter } = await import(pathToFileURL(found));
const nothing = () => {};
const log = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing, isDebugEnabled: () => false };
// Texts are left alone, as in Python: most are for people.
const options = { ignorers: [], excludedMutations: ["StringLiteral"], plugins: null, noHeader: true };
const files = process.argv.slice(2).map(async (name) => ({ name, mutate: true, content: await readFile(name, "utf-8") }));
const { mutants } = await new Instrumenter(log).instrument(await Promise.all(files), options);
const left = mutants.filter(({ status }) => status !== "Ignored");
console.log(JSON.stringify(left.map(({ location, replacement, mutatorName }) => ({ location, replacement, mutatorName }))));
