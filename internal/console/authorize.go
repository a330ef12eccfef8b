package console

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const (
	// admitFor is how long a client is admitted without another review.
	admitFor = 30 * time.Second
	// reviewTimeout bounds the reviews of one request, and maxReviews those at the same time: clients without a valid token must not keep the
	// API server busy.
	reviewTimeout = 10 * time.Second
	maxReviews    = 4
)

// Reviewer asks the API server about tokens and permissions.
type Reviewer interface {
	// ReviewToken creates a TokenReview.
	ReviewToken(ctx context.Context, review *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error)
	// ReviewAccess creates a SubjectAccessReview.
	ReviewAccess(ctx context.Context, review *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error)
}

// authorizer admits requests with a bearer token that the API server knows, of users that may get the path as a non-resource URL, as it is
// done for the metrics of Kubernetes components.
type authorizer struct {
	next     http.Handler
	reviewer Reviewer
	failed   func(error)
	turns    *semaphore.Weighted
	// admitted are those who were admitted within admitFor, by token and path. It holds tokens of known users only.
	admitted *ttlcache.Cache[admission, bool]
}

// admission is what a review admits.
type admission struct {
	token        [sha256.Size]byte
	method, path string
}

// Authorized lets the API server decide who may read what next serves. failed hears about reviews that could not be made.
func Authorized(next http.Handler, r Reviewer, now clock.PassiveClock, failed func(error)) http.Handler {
	return &authorizer{
		next: next, reviewer: r, failed: failed, turns: semaphore.NewWeighted(maxReviews), admitted: ttlcache.New[admission, bool](now, admitFor),
	}
}

// ServeHTTP implements http.Handler.
func (a *authorizer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
		fail(w, http.StatusUnauthorized, "a bearer token is required")
		return
	}
	wanted := admission{sha256.Sum256([]byte(token)), strings.ToLower(r.Method), r.URL.Path}
	if _, admitted := a.admitted.Get(wanted); !admitted {
		if code, why := a.review(r.Context(), token, wanted); code != http.StatusOK {
			fail(w, code, why)
			return
		}
		a.admitted.Set(wanted, true)
	}
	a.next.ServeHTTP(w, r)
}

// review asks the API server. It returns a status and, unless that is OK, a message for the client.
func (a *authorizer) review(ctx context.Context, token string, wanted admission) (code int, why string) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	const unavailable = "the API server cannot be asked who you are, see the log of the controller"
	if err := a.turns.Acquire(ctx, 1); err != nil {
		return http.StatusServiceUnavailable, "too many clients are waiting to be authenticated"
	}
	defer a.turns.Release(1)
	who, err := a.reviewer.ReviewToken(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}})
	if err != nil {
		a.failed(err)
		return http.StatusServiceUnavailable, unavailable
	}
	if !who.Status.Authenticated {
		return http.StatusUnauthorized, "the API server does not accept the token"
	}
	user := who.Status.User
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, value := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(value)
	}
	may, err := a.reviewer.ReviewAccess(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: wanted.path, Verb: wanted.method},
		},
	})
	if err != nil {
		a.failed(err)
		return http.StatusServiceUnavailable, unavailable
	}
	if !may.Status.Allowed || may.Status.Denied {
		return http.StatusForbidden, "user " + user.Username + " may not " + wanted.method + " the non-resource URL " + wanted.path
	}
	return http.StatusOK, ""
}
