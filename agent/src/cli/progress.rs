//! How far the work is, on stderr: a bar on a terminal, a line for each new thing otherwise.

use super::console::Console;
use crate::event::{Accepted, Event, Phase, Progress};
use crate::show;
use indicatif::{ProgressBar, ProgressStyle};

/// As many characters of a model's words are shown.
const SAID: usize = 100;

/// Shows the progress of one request: a bar for each phase, one after the other.
pub struct Meter {
    bar: Option<ProgressBar>,
    phase: Option<Phase>,
    is_colored: bool,
    is_quiet: bool,
    last: String,
}

impl Meter {
    /// A meter that fits the console.
    pub fn new(console: &Console, is_quiet: bool) -> Self {
        let bar = (console.err_is_terminal && !is_quiet).then(|| ProgressBar::new(100));
        Self { bar, phase: None, is_colored: console.color, is_quiet, last: String::new() }
    }

    /// How a phase is shown: what only waits has no percent.
    fn style(&self, phase: Phase) -> ProgressStyle {
        let bar = match (phase, self.is_colored) {
            (Phase::Waiting, _) => "",
            (_, true) => " {bar:15.cyan/dim} {pos:>3} %",
            (_, false) => " {bar:15} {pos:>3} %",
        };
        let template = format!("  {{spinner}} {:11}{bar} {{wide_msg}} {{elapsed}}", phase_word(phase));
        let style = ProgressStyle::with_template(&template);
        style.unwrap_or_else(|_| ProgressStyle::default_bar())
    }

    /// Shows an event.
    pub fn show(&mut self, event: &Event, console: &mut Console) {
        match event {
            Event::Progress(progress) => self.progress(progress, console),
            Event::Accepted(Accepted { attached: true, .. }) => self.line("already under way", console),
            // The view tells of it.
            Event::Waiting(_)
            | Event::Accepted(_)
            | Event::Output(_)
            | Event::Completed(_)
            | Event::Refused(_)
            | Event::Error(_) => {}
        }
    }

    /// Shows the end of what a model has said so far, on a terminal.
    pub fn says(&mut self, words: &str) {
        let Some(bar) = &self.bar else { return };
        let last = words.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        let count = last.chars().count();
        let end: String = last.chars().skip(count.saturating_sub(SAID)).collect();
        if self.phase != Some(Phase::Unspecified) {
            let style = ProgressStyle::with_template("  {spinner} {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            self.phase = Some(Phase::Unspecified);
        }
        bar.set_message(show::line(&end));
        bar.tick();
    }

    fn progress(&mut self, progress: &Progress, console: &mut Console) {
        let Progress { phase, item, percent, detail } = progress;
        // apt numbers what it downloads.
        let is_number = !item.is_empty() && item.bytes().all(|b| b.is_ascii_digit());
        let item = if is_number { format!("file {item}") } else { item.clone() };
        let Some(bar) = &self.bar else {
            let detail = if *phase == Phase::Waiting { format!(": {detail}") } else { String::new() };
            let text = format!("{} {item}", phase_word(*phase));
            self.line(format!("{}{detail}", text.trim_end()).trim_end_matches(": "), console);
            return;
        };
        if self.phase != Some(*phase) {
            // How long this phase takes, not all of them.
            bar.reset_elapsed();
            bar.set_style(self.style(*phase));
            self.phase = Some(*phase);
        }
        let parts: Vec<&str> = [item.as_str(), detail].into_iter().filter(|part| !part.is_empty()).collect();
        bar.set_message(show::line(&parts.join(": ")));
        bar.set_position((*percent).min(100).into());
    }

    /// A line of its own, unless it was the last one too.
    fn line(&mut self, text: &str, console: &mut Console) {
        if self.is_quiet || self.last == text {
            return;
        }
        text.clone_into(&mut self.last);
        match &self.bar {
            Some(bar) => bar.println(format!("  {}", show::line(text))),
            None => console.say(&format!("  {text}")),
        }
    }

    /// Takes the bar away.
    pub fn clear(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Waiting => "waiting",
        Phase::Update => "updating",
        Phase::Download => "downloading",
        Phase::Unpack => "unpacking",
        Phase::Configure => "configuring",
        Phase::Run => "running",
        Phase::Validate => "validating",
        Phase::Unspecified => "working",
    }
}
