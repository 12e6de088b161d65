// An OpenID provider (oidc-provider) on a free port of loopback, with its sign-in form for development.
// Arguments: the folder of packages, the redirect URI, the client secret. Prints its address.
import http from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [packages, redirectUri, secret] = process.argv.slice(2);
const found = createRequire(pathToFileURL(packages + "/")).resolve("oidc-provider");
const { Provider } = await import(pathToFileURL(found));

const server = http.createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://localhost:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{
      client_id: "agent-feedback",
      client_secret: secret,
      redirect_uris: [redirectUri],
      post_logout_redirect_uris: [new URL("/", redirectUri).href],
    }],
    claims: { openid: ["sub", "groups"], email: ["email", "email_verified"], profile: ["name"] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    cookies: { keys: ["of a test"] },
    // The account's name is its only group.
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.org`, email_verified: true, groups: [id] }),
    }),
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
