package operator

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/served"
)

// forOffer asks the API server what it offers, and logs that in one line: which behaviors of kube-scheduler the process follows depends on
// it. An API server that is upgraded later offers more after the next start.
func (w waiter) forOffer(ctx context.Context) (served.API, error) {
	var offer served.API
	err := retry(ctx, serverPatience, func(left time.Duration) error {
		var err error
		if offer, err = offerOf(ctx, w.server); err != nil {
			w.log.Warn("the API server does not list what it serves, retrying", logfield.Error(err), logfield.GivingUpIn(left))
		}
		return err
	})
	if err != nil {
		return served.API{}, fmt.Errorf("asking the API server at %s what it serves: %w", w.host, err)
	}
	if ctx.Err() == nil {
		w.log.Info("following kube-scheduler of the version of the API server", logfield.KubernetesMinor(offer.Minor), logfield.OptionalResources(resourceNames(offer.Resources)))
	}
	return offer, nil
}

// offerOf returns the version of the API server and the optional resources that it serves.
func offerOf(ctx context.Context, server discoverer) (served.API, error) {
	info, err := server.ServerVersionWithContext(ctx)
	if err != nil {
		return served.API{}, fmt.Errorf("reading the version: %w", err)
	}
	offer := served.API{Minor: minorOf(info.Minor)}
	lists := map[schema.GroupVersion]*metav1.APIResourceList{}
	for _, optional := range served.Optional {
		gv := optional.GroupVersion()
		if lists[gv] == nil {
			list, err := server.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
			if err != nil && !apierrors.IsNotFound(err) {
				return served.API{}, fmt.Errorf("listing the resources of %s: %w", gv, err)
			}
			if err != nil {
				list = &metav1.APIResourceList{}
			}
			lists[gv] = list
		}
		for i := range lists[gv].APIResources {
			if lists[gv].APIResources[i].Name == optional.Resource {
				offer.Resources = append(offer.Resources, optional)
				break
			}
		}
	}
	return offer, nil
}

// minorOf parses the minor version, to which some distributions append a plus sign; 0 if it is not a number.
func minorOf(text string) int {
	n, err := strconv.Atoi(strings.TrimRight(text, "+"))
	if err != nil {
		return 0
	}
	return n
}

func resourceNames(list []schema.GroupVersionResource) []string {
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = r.Resource + "." + r.Version + "." + r.Group
	}
	return out
}
