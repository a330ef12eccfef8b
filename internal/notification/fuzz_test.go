package notification

import (
	"bufio"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// answering is a transport whose answers are a text.
type answering string

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return http.ReadResponse(bufio.NewReader(strings.NewReader(string(a))), r)
}

// FuzzAnswers checks that whatever a webhook answers, an attempt ends as delivered or failed, with a reason of the vocabulary, a short message
// that has neither the URL nor what the webhook said, and no pause that is longer than a webhook may ask for.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 429 Slow\r\nRetry-After: 99999999999\r\n\r\n", "HTTP/1.1 503 x\r\nRetry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n\r\n",
		"HTTP/1.1 503 x\r\nRetry-After: -1\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n", "HTTP/1.1 500 x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nx", "HTTP/1.1 999 x\r\n\r\n", "HTTP/1.1 101 Switching\r\n\r\n", "", "garbage",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		b := newBench(t, someURL, answering(answer))
		failed := b.post(t.Context(), message{id: "1", body: []byte("{}")})
		if failed == nil {
			return
		}
		if !slices.Contains([]string{"status", "connection", "timeout"}, failed.reason) {
			t.Errorf("%q: reason %s", answer, failed.reason)
		}
		if text := failed.err.Error(); strings.Contains(text, "topsecret") || len(text) > 4<<10+len(answer) {
			t.Errorf("%q: error %s", answer, text)
		}
		if failed.final && failed.after > 0 {
			t.Errorf("%q: is final, and repeated after %s", answer, failed.after)
		}
	})
}

// FuzzTarget checks that of the files with a URL and secrets, only URLs with TLS or of the loopback interface are accepted, without a password,
// and that no error quotes the files.
func FuzzTarget(f *testing.F) {
	for _, seed := range []struct{ url, secrets string }{
		{someURL, secretOf('a')},
		{"http://localhost:1/", secretOf('a') + "\n" + secretOf('b')},
		{"http://127.0.0.1@evil.example.com/", "whsec_"},
		{"https://user:topsecret@hooks.example.com", "whsec_!"},
		{"HTTPS://hooks.example.com\x00", "topsecret"},
		{"http://[::1%25eth0]/", strings.Repeat(secretOf('a')+" ", 5)},
		{"//hooks.example.com", ""},
	} {
		f.Add(seed.url, seed.secrets)
	}
	f.Fuzz(func(t *testing.T, url, secrets string) {
		dir := t.TempDir()
		o := options.Notifications{URLFile: dir + "/url", SecretFile: dir + "/secret"}
		write(t, o.URLFile, url)
		write(t, o.SecretFile, secrets)
		read, err := readTarget(o)
		if err != nil {
			for _, text := range append(strings.Fields(url), strings.Fields(secrets)...) {
				if len(text) > 20 && strings.Contains(err.Error(), text) {
					t.Errorf("the error quotes %q: %v", text, err)
				}
			}
			return
		}
		if u := read.url; u.User != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
			t.Errorf("%q is accepted", url)
		}
		if len(read.keys) == 0 || len(read.keys) > maxSecrets {
			t.Errorf("%d keys", len(read.keys))
		}
	})
}
