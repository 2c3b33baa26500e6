//! Links between pages.

use super::{all_pages, root};

/// Targets of the links in a page: what stands in `](…)`.
fn targets(text: &str) -> Vec<String> {
    let parts = text.split("](").skip(1);
    parts.filter_map(|part| Some(part.split_once(')')?.0.to_owned())).collect()
}

#[test]
fn every_link_within_the_repository_leads_to_a_file_and_to_a_heading_in_it() {
    let mut broken = Vec::new();
    for page in all_pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for target in targets(&text) {
            if target.starts_with("http") || target.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let path = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let found = std::fs::read_to_string(&path);
            let there =
                path.exists() && (heading.is_empty() || has_heading(&found.unwrap_or_default(), heading));
            if !there {
                broken.push(format!("{}: {target}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// As GitHub makes anchors of headings: lower case, punctuation dropped, spaces as hyphens.
fn has_heading(text: &str, anchor: &str) -> bool {
    text.lines().filter(|line| line.starts_with('#')).any(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>() == anchor
    })
}

#[test]
fn links_and_headings_are_found_where_they_are() {
    assert_eq!(targets("see [a](b.md#c) and [d](e)"), ["b.md#c", "e"]);
    assert!(has_heading("# Who may do what?\n", "who-may-do-what") && !has_heading("# Who\n", "what"));
}
