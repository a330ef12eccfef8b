package notification

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/karpenter-anew/karpenter/internal/options"
)

const (
	// maxFile is the most bytes of a file with a URL or secrets, maxSecrets the most secrets.
	maxFile, maxSecrets = 8 << 10, 4
	// minKey and maxKey are the lengths of a key that Standard Webhooks recommends.
	minKey, maxKey = 24, 64
)

// target is where notifications go, and what signs them. It is read before each attempt, so that secrets can be replaced.
type target struct {
	url  *url.URL
	keys []*standardwebhooks.Webhook
}

// readTarget reads the files. Its errors do not have their content.
func readTarget(o options.Notifications) (target, error) {
	text, err := readFile(o.URLFile)
	if err != nil {
		return target{}, fmt.Errorf("reading --notification-url-file: %w", err)
	}
	t := target{}
	if t.url, err = parseURL(text); err != nil {
		return target{}, fmt.Errorf("the URL in --notification-url-file %s: %w", o.URLFile, err)
	}
	if o.SecretFile == "" {
		return t, nil
	}
	if text, err = readFile(o.SecretFile); err != nil {
		return target{}, fmt.Errorf("reading --notification-secret-file: %w", err)
	}
	if t.keys, err = parseSecrets(text); err != nil {
		return target{}, fmt.Errorf("the content of --notification-secret-file %s: %w", o.SecretFile, err)
	}
	return t, nil
}

// readFile reads a short text.
func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return "", err
	case len(raw) > maxFile:
		return "", fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return strings.TrimSpace(string(raw)), nil
}

// parseURL accepts https, and http on the loopback interface.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil: // which quotes the text
		return nil, errors.New("is not a URL")
	case u.Host == "":
		return nil, errors.New("has no host")
	case u.User != nil:
		return nil, errors.New("must not have a user name or password")
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return u, nil
	default:
		return nil, errors.New("must begin with https://; http:// is for the loopback interface only")
	}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// parseSecrets reads secrets of the form whsec_BASE64, separated by white space.
func parseSecrets(text string) ([]*standardwebhooks.Webhook, error) {
	words := strings.Fields(text)
	if len(words) == 0 || len(words) > maxSecrets {
		return nil, fmt.Errorf("must be 1 to %d secrets", maxSecrets)
	}
	var out []*standardwebhooks.Webhook
	for _, word := range words {
		encoded, ok := strings.CutPrefix(word, "whsec_")
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(key) < minKey || len(key) > maxKey {
			return nil, fmt.Errorf("each secret must be whsec_ followed by %d to %d bytes in base64", minKey, maxKey)
		}
		webhook, err := standardwebhooks.NewWebhookRaw(key)
		if err != nil {
			return nil, errors.New("a secret cannot be used")
		}
		out = append(out, webhook)
	}
	return out, nil
}

// sign returns the signatures of a message by all keys; empty without keys.
func (t target) sign(id string, at time.Time, body []byte) (string, error) {
	signatures := make([]string, len(t.keys))
	for i, key := range t.keys {
		signature, err := key.Sign(id, at, body)
		if err != nil {
			return "", fmt.Errorf("signing a notification: %w", err)
		}
		signatures[i] = signature
	}
	return strings.Join(signatures, " "), nil
}
