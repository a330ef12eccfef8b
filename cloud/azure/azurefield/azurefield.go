// Package azurefield makes the fields of log lines that only Azure has, as package logfield does for all providers.
package azurefield

import "log/slog"

// Request is a request to Azure: its method, host and path. The query is left out, because links to operations are signed in it.
func Request(text string) slog.Attr { return slog.String("azure-request", text) }

// RequestID is the ID of a request to Azure, as its support asks for it.
func RequestID(id string) slog.Attr { return slog.String("azure-request-id", id) }

// StatusCode is the HTTP status of a response of Azure.
func StatusCode(code int) slog.Attr { return slog.Int("azure-status-code", code) }
