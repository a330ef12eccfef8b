package operator

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// RESTConfig finds the API server as the controller does, for the tools beside it. file is a kubeconfig; empty means the
// usual rules.
func RESTConfig(file string) (*rest.Config, error) { return restConfig(file) }

// restConfig finds the API server by the rules of kubectl, with the in-cluster configuration before the file in the home directory: the
// file named by --kubeconfig, the files in $KUBECONFIG, the service account of the pod, ~/.kube/config.
func restConfig(file string) (*rest.Config, error) {
	if file != "" {
		return fromFiles(&clientcmd.ClientConfigLoadingRules{ExplicitPath: file}, fmt.Sprintf("--kubeconfig=%s", file))
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if named := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); named != "" {
		return fromFiles(rules, fmt.Sprintf("KUBECONFIG=%s", named))
	}
	config, err := rest.InClusterConfig()
	switch {
	case err == nil:
		return config, nil
	case !errors.Is(err, rest.ErrNotInCluster):
		return nil, fmt.Errorf("reading the in-cluster configuration: %w", err)
	}
	return fromFiles(rules, clientcmd.RecommendedHomeFile)
}

// fromFiles reads kubeconfig files; source names them for the error.
func fromFiles(rules clientcmd.ClientConfigLoader, source string) (*rest.Config, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("no API server in %s: name a kubeconfig with --kubeconfig or KUBECONFIG, or run inside a cluster", source)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig in %s: %w", source, err)
	}
	return config, nil
}
