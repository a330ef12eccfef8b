package screen

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karpenter-anew/karpenter/internal/view"
)

// remedy is what a failure means, and what to do about it.
func remedy(err error) (what, todo string) {
	var network net.Error
	switch {
	case errors.Is(err, view.ErrNotFound):
		return "it no longer exists", "Esc goes back"
	case apierrors.IsForbidden(err):
		return "no permission", "it takes permission to list what karpenter snapshot reads: see docs/top.md"
	case apierrors.IsUnauthorized(err):
		return "the credentials are not accepted", "log in again, or choose others with --context or --user"
	case errors.Is(err, context.DeadlineExceeded):
		return "the API server is too slow", "check the network, or raise --request-timeout"
	case errors.As(err, &network):
		return "connection lost", "check the network, the VPN and --kubeconfig"
	}
	return "reading failed", "r reads the cluster now"
}

// line is what the screen says about a failure: what it means, what to do, how old the data is, and the message.
func (f failure) line(shown *view.Head, now time.Time, paused bool) line {
	what, todo := remedy(f.err)
	text := "! " + what + " (u: why)"
	if shown != nil {
		text += ", data is " + since(shown.At, now) + " old"
	} else {
		text += ", no data yet"
	}
	if !paused && f.retry.After(now) {
		text += ", next try in " + age(f.retry.Sub(now).Round(time.Second))
	}
	text += ": " + todo
	return line{{text, bad}, {" (" + strings.Join(strings.Fields(f.err.Error()), " ") + ")", faint}}
}

// unreadLine says that the cluster could not be read again since a document was made.
func unreadLine(head *view.Head, now time.Time) line {
	text := "! reading the cluster failed, data is " + since(head.At, now) + " old: " + strings.Join(strings.Fields(head.Failure), " ")
	return line{{text, bad}}
}

// failure is the last failure to read a document.
type failure struct {
	err error
	// times is how often reading failed in a row, retry is when it is read again.
	times int
	retry time.Time
}

// maxRetryDelay is the longest delay between attempts.
const maxRetryDelay = 30 * time.Second

// fail counts a failure: delays double.
func (f *failure) fail(err error, now time.Time, interval time.Duration) {
	f.err = err
	f.times++
	delay := interval << min(f.times-1, 10)
	f.retry = now.Add(min(max(delay, interval), max(maxRetryDelay, interval)))
}
