package chart

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readerRole is the ClusterRole of those who may read secured metrics.
const readerRole = "karpenter-metrics-reader"

// TestSecuredMetrics: the chart has a role for readers, lets the controller ask the API server about them, and has Prometheus send its token.
func TestSecuredMetrics(t *testing.T) {
	for secured, want := range map[string]bool{"true": true, "false": false} {
		objects := named("settings.clusterName=one", "settings.secureMetrics="+secured).objects(t)
		reader := false
		for _, o := range objects {
			role, ok := o.(*rbacv1.ClusterRole)
			reader = reader || ok && role.Name == readerRole && len(role.Rules) == 1 && slices.Equal(role.Rules[0].NonResourceURLs, []string{"/metrics"})
		}
		if reader != want {
			t.Errorf("secured %s: there is a role for readers: %v", secured, reader)
		}
		for _, c := range []call{
			{verb: "create", group: "authentication.k8s.io", resource: "tokenreviews"}, {verb: "create", group: "authorization.k8s.io", resource: "subjectaccessreviews"},
		} {
			if got := slices.ContainsFunc(grants(objects), func(g grant) bool { return g.covers(c) }); got != want {
				t.Errorf("secured %s: %+v is granted: %v", secured, c, got)
			}
		}
	}
	endpoint := func(kind string, set ...string) string {
		spec := monitoring(t, kind, append(set, "settings.secureMetrics=true")...)
		list, ok := spec["endpoints"].([]any)
		if !ok {
			list = spec["podMetricsEndpoints"].([]any)
		}
		return fmt.Sprint(list[0])
	}
	const token = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	for want, got := range map[string]string{
		"map[bearerTokenFile:" + token + " path:/metrics port:http-metrics scheme:https tlsConfig:map[insecureSkipVerify:true]]":              endpoint("ServiceMonitor", "serviceMonitor.enabled=true"),
		"map[authorization:map[type:Bearer] path:/metrics port:http-metrics scheme:https tlsConfig:map[insecureSkipVerify:true]]":             endpoint("ServiceMonitor", "serviceMonitor.enabled=true", "serviceMonitor.endpointConfig.authorization.type=Bearer"),
		"map[bearerTokenFile:" + token + " path:/metrics port:http-metrics scheme:https tlsConfig:map[insecureSkipVerify:false]]":             endpoint("ServiceMonitor", "serviceMonitor.enabled=true", "serviceMonitor.endpointConfig.tlsConfig.insecureSkipVerify=false"),
		"map[authorization:map[type:Bearer] interval:9s path:/metrics port:http-metrics scheme:https tlsConfig:map[insecureSkipVerify:true]]": endpoint("PodMonitor", "podMonitor.enabled=true", "podMonitor.endpointConfig.authorization.type=Bearer", "podMonitor.endpointConfig.interval=9s"),
	} {
		if got != want {
			t.Errorf("the endpoint is\n%s\nwant\n%s", got, want)
		}
	}
	_, err := named("settings.clusterName=one", "settings.secureMetrics=true", "podMonitor.enabled=true").text()
	if err == nil || !strings.Contains(err.Error(), "podMonitor.endpointConfig.authorization") {
		t.Errorf("a PodMonitor without a token: %v", err)
	}
	pod := the[*corev1.Pod](t, named("settings.clusterName=one", "settings.secureMetrics=true").objects(t), testName)
	if args := strings.Join(pod.Spec.Containers[0].Args, " "); strings.Contains(args, "/metrics") || !strings.Contains(args, "/readyz") {
		t.Errorf("helm test asks %s", args)
	}
}

// wantSecuredMetrics reads metrics with the token of an account that has the role for readers, and of one that has not.
func (w *installed) wantSecuredMetrics(port int) {
	w.t.Helper()
	tokens := map[string]string{"": ""}
	for _, name := range []string{"prometheus", "tenant"} {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
		if err := w.client.Create(w.t.Context(), account); err != nil {
			w.t.Fatal(err)
		}
		token, err := w.clients.CoreV1().ServiceAccounts(metav1.NamespaceDefault).CreateToken(w.t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		tokens[name] = token.Status.Token
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: readerRole}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: readerRole},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: "prometheus"}},
	}
	if err := w.client.Create(w.t.Context(), binding); err != nil {
		w.t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	for name, want := range map[string]int{"prometheus": http.StatusOK, "tenant": http.StatusForbidden, "": http.StatusUnauthorized} {
		w.await(fmt.Sprintf("metrics answer %q with %d", name, want), func() string {
			request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/metrics", port), nil)
			if err != nil {
				w.t.Fatal(err)
			}
			if tokens[name] != "" {
				request.Header.Set("Authorization", "Bearer "+tokens[name])
			}
			response, err := transport.RoundTrip(request)
			if err != nil {
				return err.Error()
			}
			defer response.Body.Close()
			if response.StatusCode != want {
				return response.Status
			}
			return ""
		})
	}
}
