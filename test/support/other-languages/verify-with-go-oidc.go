// Verifies the task tokens on standard input, one a line, with go-oidc. docs/tool-servers.md shows lines of this file.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	oidc "github.com/coreos/go-oidc"
	jose "gopkg.in/square/go-jose.v2"
)

type actor struct {
	Subject string `json:"sub"`
	Depth   int    `json:"depth"`
	Actor   *actor `json:"act"`
}

type claims struct {
	ID                 string `json:"jti"`
	Scope              string `json:"scope"`
	Actor              *actor `json:"act"`
	IntrospectRequired *bool  `json:"introspect_required"`
}

func verified(ctx context.Context, verifier *oidc.IDTokenVerifier, raw string) (*oidc.IDToken, error) {
	token, err := verifier.Verify(ctx, raw)
	if err != nil {
		return nil, err
	}
	parsed, err := jose.ParseSigned(raw)
	if err != nil {
		return nil, err
	}
	var claims claims
	if err := token.Claims(&claims); err != nil {
		return nil, err
	}
	isTaskToken := parsed.Signatures[0].Header.ExtraHeaders[jose.HeaderType] == "at+jwt" &&
		claims.ID != "" &&
		token.Subject != "" && !strings.HasPrefix(strings.ToLower(token.Subject), "agent:") &&
		claims.Actor != nil && strings.HasPrefix(claims.Actor.Subject, "agent:") &&
		claims.Actor.Depth == 1 && claims.Actor.Actor == nil &&
		claims.IntrospectRequired == nil
	if !isTaskToken {
		return nil, errors.New("the token is no task token that may be checked here")
	}
	return token, nil
}

func main() {
	issuer, audience := os.Getenv("MANDATE_ISSUER"), os.Getenv("AUDIENCE")
	ctx := context.Background()
	provider, err := oidc.NewProvider(ctx, issuer)
	if err != nil {
		panic(err)
	}
	// Debian's version 2.1 does not read the algorithms of the metadata. ClientID is compared with `aud`.
	verifier := provider.Verifier(&oidc.Config{ClientID: audience, SupportedSigningAlgs: []string{oidc.ES256}})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if token, err := verified(ctx, verifier, lines.Text()); err != nil {
			fmt.Println("refused")
		} else {
			fmt.Println("accepted", token.Subject)
		}
	}
}
