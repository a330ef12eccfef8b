{{- /* The sections of all pages. */ -}}
{{- $sections := slice -}}
{{- range site.Pages -}}
{{- $page := . -}}
{{- with .File -}}
{{- $href := strings.TrimPrefix "/" (partial "href.html" $page) -}}
{{- $title := partial "title.html" $page -}}
{{- range $i, $part := split $page.Content "<h2 id=\"" -}}
{{- $heading := "" }}{{ $at := $href }}{{ $body := $part -}}
{{- if $i -}}
{{- $end := split $part "</h2>" -}}
{{- $head := split (index $end 0) "\">" -}}
{{- $at = printf "%s#%s" $href (index $head 0) -}}
{{- $heading = delimit (after 1 $head) "\">" | plainify | htmlUnescape -}}
{{- $body = delimit (after 1 $end) "</h2>" -}}
{{- end -}}
{{- $text := $body | replaceRE `</(?:p|td|th|li|h\d|pre)>` " " | plainify | htmlUnescape | replaceRE `\s+` " " | strings.TrimSpace -}}
{{- $sections = $sections | append (dict "at" $at "page" $title "heading" $heading "text" (substr $text 0 6000)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
karpenterSearch({{ $sections | jsonify (dict "noHTMLEscape" true) }});
