// Package restconfig finds the API server, for the controller and for the tools beside it.
package restconfig

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Load finds the API server by the rules of kubectl, with the in-cluster configuration before the file in the home directory: the file named by
// --kubeconfig, which may be empty, the files in $KUBECONFIG, the service account of the pod, ~/.kube/config. With a context, cluster or user among the
// overrides, the in-cluster configuration is not used.
func Load(file string, overrides clientcmd.ConfigOverrides) (*rest.Config, error) {
	if file != "" {
		return fromFiles(&clientcmd.ClientConfigLoadingRules{ExplicitPath: file}, fmt.Sprintf("--kubeconfig=%s", file), overrides)
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if named := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); named != "" {
		return fromFiles(rules, fmt.Sprintf("KUBECONFIG=%s", named), overrides)
	}
	if overrides.CurrentContext != "" || overrides.Context.Cluster != "" || overrides.Context.AuthInfo != "" {
		return fromFiles(rules, clientcmd.RecommendedHomeFile, overrides)
	}
	config, err := rest.InClusterConfig()
	switch {
	case err == nil:
		return config, applyOverrides(config, overrides)
	case !errors.Is(err, rest.ErrNotInCluster):
		return nil, fmt.Errorf("reading the in-cluster configuration: %w", err)
	}
	return fromFiles(rules, clientcmd.RecommendedHomeFile, overrides)
}

// Namespace returns the namespace that commands use where none is named: that of the context of the kubeconfig, of the pod, or default.
func Namespace(file string, overrides clientcmd.ConfigOverrides) (string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	namespace, _, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &overrides).Namespace()
	if err != nil {
		return "", fmt.Errorf("reading the namespace of the kubeconfig: %w", err)
	}
	return namespace, nil
}

// applyOverrides applies the overrides that do not depend on a kubeconfig.
func applyOverrides(config *rest.Config, overrides clientcmd.ConfigOverrides) error {
	config.Impersonate.UserName, config.Impersonate.Groups = overrides.AuthInfo.Impersonate, overrides.AuthInfo.ImpersonateGroups
	if overrides.Timeout == "" {
		return nil
	}
	var err error
	if config.Timeout, err = clientcmd.ParseTimeout(overrides.Timeout); err != nil {
		return fmt.Errorf("the timeout of requests: %w", err)
	}
	return nil
}

// fromFiles reads kubeconfig files; source names them for the error.
func fromFiles(rules clientcmd.ClientConfigLoader, source string, overrides clientcmd.ConfigOverrides) (*rest.Config, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &overrides).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("no API server in %s: name a kubeconfig with --kubeconfig or KUBECONFIG, or run inside a cluster", source)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig in %s: %w", source, err)
	}
	return config, nil
}
