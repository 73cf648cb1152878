// An agent that reads two issues for a person, at a tool server over HTTP. It needs golang.org/x/oauth2 and go-jose.
// If the tool server asks the person for a yes, the agent shows the address, and waits for the answer.
package main

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"gopkg.in/square/go-jose.v2"
	"gopkg.in/square/go-jose.v2/jwt"
)

var (
	issuer       = os.Getenv("MANDATE_ISSUER")
	agentID      = os.Getenv("AGENT_ID")
	keyFile      = os.Getenv("KEY_FILE")
	subjectToken = os.Getenv("SUBJECT_TOKEN")
	resource     = os.Getenv("RESOURCE")
	// The tool server's address, if it differs from the audience of its tokens.
	toolServer = or(os.Getenv("TOOL_SERVER"), resource)
)

const (
	tokenType        = "urn:ietf:params:oauth:token-type:"
	patience         = 30 * time.Second
	approvalPatience = 10 * time.Minute
)

// The token goes to one tool server only: no redirect is followed.
var client = &http.Client{
	Timeout:       10 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// notNow means temporarily unavailable: retry after this time, a minute at most.
type notNow struct {
	wait time.Duration
	host string
}

func (later notNow) Error() string {
	return fmt.Sprintf("%s is unavailable. Later, in %.0f s", later.host, later.wait.Seconds())
}

// approvalRequired means: a person has to approve this call. The same call goes through once after the yes.
type approvalRequired struct {
	uri  string
	wait time.Duration
}

func (required approvalRequired) Error() string { return "No answer yet: " + required.uri }

// refused means: do not repeat the request. access_denied and invalid_grant also end the task.
type refused string

func (reason refused) Error() string { return "No: " + string(reason) }

type task struct {
	signer        jose.Signer
	tokenURL      string
	revocationURL string
	token         *oauth2.Token
	renewAt       time.Time
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() (err error) {
	t, err := startTask("jira:read jira:comment")
	if err != nil {
		return err
	}
	defer func() {
		if ended := t.end(); err == nil {
			err = ended
		}
	}()
	if err := t.renew(url.Values{"scope": {"jira:read"}}); err != nil {
		return err
	}
	for _, issue := range []string{"OPS-7", "OPS-8"} {
		text, err := t.get("/issues/" + issue)
		if err != nil {
			return err
		}
		fmt.Println(text)
	}
	return nil
}

func startTask(scope string) (*task, error) {
	signer, err := readKey(keyFile)
	if err != nil {
		return nil, err
	}
	var metadata struct {
		TokenURL      string `json:"token_endpoint"`
		RevocationURL string `json:"revocation_endpoint"`
	}
	err = patiently(func() error {
		body, err := send(http.NewRequest("GET", issuer+"/.well-known/oauth-authorization-server", nil))
		if err != nil {
			return err
		}
		return json.Unmarshal(body, &metadata)
	})
	if err != nil {
		return nil, err
	}
	t := &task{signer: signer, tokenURL: metadata.TokenURL, revocationURL: metadata.RevocationURL}
	return t, t.request("actor_token", url.Values{
		"grant_type":         {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token":      {subjectToken},
		"subject_token_type": {tokenType + "access_token"},
		"actor_token_type":   {tokenType + "jwt"},
		"resource":           {resource},
		"scope":              {scope},
	})
}

// renew, with a scope, gives up all others permanently.
func (t *task) renew(scope url.Values) error {
	parameters := url.Values{
		"grant_type":            {"refresh_token"},
		"refresh_token":         {t.token.RefreshToken},
		"resource":              {resource},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
	}
	for name, values := range scope {
		parameters[name] = values
	}
	return t.request("client_assertion", parameters)
}

// request asks for a token. Each attempt signs a new assertion, so no TokenSource of x/oauth2 can renew the token: it
// would send the old assertion again. AuthStyleInParams: the automatic choice would send each assertion twice.
func (t *task) request(assertionParameter string, parameters url.Values) error {
	return patiently(func() error {
		assertion, err := t.assertion()
		if err != nil {
			return err
		}
		parameters.Set(assertionParameter, assertion)
		asked := time.Now()
		config := clientcredentials.Config{
			ClientID:       agentID,
			TokenURL:       t.tokenURL,
			EndpointParams: parameters,
			AuthStyle:      oauth2.AuthStyleInParams,
		}
		token, err := config.Token(context.WithValue(context.Background(), oauth2.HTTPClient, client))
		var answer *oauth2.RetrieveError
		if errors.As(err, &answer) {
			return judge(answer.Response, answer.Body)
		}
		if err != nil {
			return err
		}
		t.token = token
		t.renewAt = asked.Add(token.Expiry.Sub(asked) * 6 / 10)
		return nil
	})
}

// get repeats the call if it got no answer, which a GET allows, and while it waits for a person.
func (t *task) get(path string) (string, error) {
	deadline := time.Now().Add(approvalPatience)
	shown := map[string]bool{}
	for {
		if time.Now().After(t.renewAt) {
			if err := t.renew(nil); err != nil {
				return "", err
			}
		}
		var body []byte
		err := patiently(func() error {
			request, err := http.NewRequest("GET", toolServer+path, nil)
			if err != nil {
				return err
			}
			t.token.SetAuthHeader(request)
			body, err = send(request, nil)
			return err
		})
		var required approvalRequired
		if !errors.As(err, &required) {
			return string(body), err
		}
		if !shown[required.uri] {
			shown[required.uri] = true
			fmt.Fprintln(os.Stderr, "Please answer at "+required.uri)
		}
		if time.Now().Add(required.wait).After(deadline) {
			return "", required
		}
		time.Sleep(required.wait)
	}
}

func (t *task) end() error {
	return patiently(func() error {
		assertion, err := t.assertion()
		if err != nil {
			return err
		}
		response, err := client.PostForm(t.revocationURL, url.Values{
			"token":                 {t.token.RefreshToken},
			"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
			"client_assertion":      {assertion},
		})
		_, err = read(response, err)
		return err
	})
}

// assertion is valid for one request.
func (t *task) assertion() (string, error) {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return "", err
	}
	now := time.Now()
	return jwt.Signed(t.signer).Claims(jwt.Claims{
		Issuer:   agentID,
		Subject:  agentID,
		Audience: jwt.Audience{issuer},
		ID:       base64.RawURLEncoding.EncodeToString(id),
		IssuedAt: jwt.NewNumericDate(now),
		Expiry:   jwt.NewNumericDate(now.Add(time.Minute)),
	}).CompactSerialize()
}

func readKey(file string) (jose.Signer, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New(file + " holds no PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	return jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
}

func send(request *http.Request, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return read(client.Do(request))
}

func read(response *http.Response, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	return body, judge(response, body)
}

func judge(response *http.Response, body []byte) error {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		seconds = 1
	}
	if seconds > 60 {
		seconds = 60
	}
	wait := time.Duration(seconds) * time.Second
	switch response.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return notNow{wait, response.Request.URL.Host}
	}
	var answer struct {
		Reason, Error string
		URI           string `json:"approval_uri"`
	}
	json.Unmarshal(body, &answer)
	// Only the control plane's page is shown to a person: a tool server could name any other.
	if answer.Reason == "approval_required" && strings.HasPrefix(answer.URI, issuer+"/me/approvals/") {
		return approvalRequired{answer.URI, wait}
	}
	return refused(or(answer.Reason, or(answer.Error, response.Status)))
}

// patiently retries while the server is unavailable or unreachable.
func patiently(attempt func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := attempt()
		var unreachable *url.Error
		var later notNow
		if errors.As(err, &unreachable) {
			later = notNow{time.Second, hostOf(unreachable.URL)}
		} else if !errors.As(err, &later) {
			return err
		}
		if time.Now().Add(later.wait).After(deadline) {
			return later
		}
		time.Sleep(later.wait)
	}
}

func hostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return address
	}
	return parsed.Host
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
