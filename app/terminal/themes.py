"""A dark and a light theme. Their signal colours stay apart in the common kinds of colour blindness (blue, teal,
amber, vermilion; after Okabe and Ito), and everything they mark has a sign or a word as well."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="steer-dark",
    dark=True,
    primary="#56A5E8",
    secondary="#3C6E9F",
    accent="#E9B949",
    warning="#F0B24A",
    error="#F2784B",
    success="#35BFA4",
    foreground="#DCE3EA",
    background="#10151B",
    surface="#151C24",
    panel="#1E2833",
    variables={
        "block-cursor-background": "#2C4A66",
        "block-cursor-foreground": "#FFFFFF",
        "block-cursor-blurred-background": "#222E3A",
        "footer-description-foreground": "#B7C2CD",
        "input-selection-background": "#56A5E8 35%",
        "border": "#3C6E9F",
        "border-blurred": "#2A3845",
        "scrollbar": "#33475A",
        "scrollbar-background": "#151C24",
        "scrollbar-hover": "#4A6883",
    },
)

LIGHT = Theme(
    name="steer-light",
    dark=False,
    primary="#0B63A8",
    secondary="#5D8DB5",
    accent="#8A5A00",
    warning="#9A5B00",
    error="#B63A0B",
    success="#00705A",
    foreground="#1B242D",
    background="#FAFBFC",
    surface="#F3F6F8",
    panel="#E4EAF0",
    variables={
        "block-cursor-background": "#BCD7EE",
        "block-cursor-foreground": "#10151B",
        "block-cursor-blurred-background": "#DCE6EE",
        "footer-description-foreground": "#3B4855",
        "border": "#5D8DB5",
        "border-blurred": "#C4CFD9",
        "scrollbar": "#B4C3D0",
        "scrollbar-background": "#F3F6F8",
        "scrollbar-hover": "#8FA6BA",
    },
)
