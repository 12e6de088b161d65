// An OpenID provider for tests: it signs in the next person of standard input, a line "EMAIL GROUP", without asking.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"time"

	"github.com/oauth2-proxy/mockoidc"
)

func main() {
	lifetime, err := time.ParseDuration(os.Args[1])
	if err != nil {
		panic(err)
	}
	provider, err := mockoidc.Run()
	if err != nil {
		panic(err)
	}
	provider.AccessTTL = lifetime
	json.NewEncoder(os.Stdout).Encode(provider.Config())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		person := strings.Fields(lines.Text())
		provider.QueueUser(&mockoidc.MockUser{
			Subject: person[0], Email: person[0], EmailVerified: true, Groups: person[1:],
		})
		os.Stdout.WriteString("queued\n")
	}
}
