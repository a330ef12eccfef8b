package chart

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/test/awscluster"
)

// account starts an AWS test server, with an instance profile for objects of earlier APIs. It returns the values of a release that uses it.
func (w *installed) account() []string {
	w.t.Helper()
	const cluster = "test"
	a, err := awscluster.Start(w.t.Context(), w.kubeconfig, w.client, awscluster.Options{
		Cluster: cluster, Types: []string{"m5.large", "m5.xlarge", "m5.2xlarge", "m5.metal"}, Boot: time.Second, Shutdown: time.Second,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := a.Stop(); err != nil {
			w.t.Error(err)
		}
		for _, i := range a.Account.Instances() {
			if err := a.Joiner.Refusal(i.ID); err != nil && w.t.Failed() {
				w.t.Logf("instance %s has not joined: %v", i.ID, err)
			}
		}
	})
	a.Account.AddProfile(awstest.Profile{Name: "old", Roles: []string{awstest.Role}})
	out := []string{
		"settings.clusterName=" + cluster, "settings.interruptionQueue=" + cluster,
		// The controller would use its own API server, which is the recorder here; nodes use the real one.
		"settings.clusterCABundle=" + base64.StdEncoding.EncodeToString(w.authority),
	}
	for i, variable := range a.Environment() {
		name, value, _ := strings.Cut(variable, "=")
		out = append(out, fmt.Sprintf("controller.env[%d].name=%s", i, name), fmt.Sprintf("controller.env[%d].value=%s", i, value))
	}
	return out
}
